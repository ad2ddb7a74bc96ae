#!/usr/bin/python3
"""Prometheus scrapes an instance that works: each scrape succeeds, and counters are what the instance says.

    prometheus.py BIN_DIRECTORY [SECONDS]

Exit status 77: there is no prometheus here.
"""
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
import openmetrics
from command_line import CommandLine, until
from pages import Web

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 8
CONFIGURATION = """
global: {{scrape_interval: 2s, scrape_timeout: 2s}}
scrape_configs:
- job_name: granary
  metrics_path: {path}
  authorization: {{credentials: {token}}}
  static_configs: [{{targets: ['{target}']}}]
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


class Prometheus:
    def __init__(self, folder, web):
        folder.mkdir()
        self.url = f'http://127.0.0.1:{free_port()}'
        (folder / 'prometheus.yml').write_text(CONFIGURATION.format(path=f'{web.front}metrics', token=web.token, target=web.host))
        self.process = subprocess.Popen(
            ['prometheus', f'--config.file={folder}/prometheus.yml', f'--storage.tsdb.path={folder}/data',
             f'--web.listen-address={self.url.removeprefix("http://")}', '--log.level=warn'],
            stdout=subprocess.DEVNULL, stderr=(folder / 'log').open('w'))

    def ready(self):
        try:
            return urllib.request.urlopen(f'{self.url}/-/ready').status == 200
        except OSError:
            return False

    def get(self, path, **parameters):
        with urllib.request.urlopen(f'{self.url}/api/v1/{path}?' + urllib.parse.urlencode(parameters)) as answer:
            return json.load(answer)['data']

    def ask(self, query):
        """{labels but the name and where it was scraped: value}"""
        result = self.get('query', query=query)['result']
        return {tuple(sorted((k, v) for k, v in row['metric'].items() if k not in ('__name__', 'instance', 'job'))): float(row['value'][1])
                for row in result}

    def end(self):
        self.process.terminate()
        self.process.wait()


def work(granary, over, done):
    """Objects come and go, and queries run, until it is over."""
    (pathlib.Path(granary.base) / 'numbers.csv').write_text('n\n' + '\n'.join(map(str, range(1000))) + '\n')
    while not over.is_set():
        granary.must('put', '--id-from', f'object {done[0]}', 'numbers.csv')
        assert '499500' in granary.must('sql', '--no-recall', "SELECT sum(n) FROM 'numbers.csv'")
        granary.must('rm', f'name:object {done[0]}')
        done[0] += 1


def own(granary, name):
    """A counter, added up over its labels, as the instance tells it now."""
    return sum(value for suffix, _, value in openmetrics.parse(granary.must('metrics'))[name.removesuffix('_total')].samples)


def main():
    if not shutil.which('prometheus'):
        print('SKIPPED: there is no prometheus')
        return 77
    with CommandLine(pathlib.Path(sys.argv[1]).resolve()) as granary:
        web = Web(granary, '--listen', '127.0.0.1:0')
        prometheus = Prometheus(pathlib.Path(granary.base) / 'prometheus', web)
        over, done = threading.Event(), [0]
        worker = threading.Thread(target=work, args=(granary, over, done))
        try:
            until('Prometheus', prometheus.ready)
            until('the first scrape', lambda: prometheus.ask('up'))
            worker.start()
            over.wait(SECONDS)
            over.set()
            worker.join()
            seals = own(granary, 'granary_store_seals_total')
            assert done[0] > 0 and seals >= done[0], (done, seals)
            until('the last scrape', lambda: sum(prometheus.ask('granary_store_seals_total').values()) == seals)

            span = f'[{int(SECONDS) + 60}s]'
            scrapes, = prometheus.ask(f'count_over_time(up{span})').values()
            good, = prometheus.ask(f'sum_over_time(up{span})').values()
            assert scrapes == good and good >= SECONDS / 4, f'{good} of {scrapes} scrapes'
            assert set(prometheus.ask('granary_up').values()) == {1}
            counters = [name for name in prometheus.get('label/__name__/values') if re.fullmatch('granary_.*_(total|count|bucket)', name)]
            fell = [name for name in counters if any(prometheus.ask(f'resets({name}{span})').values())]
            assert len(counters) > 20 and not fell, (counters, fell)
            series, = prometheus.ask('scrape_samples_scraped').values()
            taken, = prometheus.ask(f'max_over_time(scrape_duration_seconds{span})').values()
            print(f'{scrapes:.0f} scrapes of {series:.0f} series, the longest took {1000 * taken:.1f} ms; {done[0]} rounds of work')
        finally:
            over.set()
            prometheus.end()
            web.end()
    return 0


sys.exit(main())
