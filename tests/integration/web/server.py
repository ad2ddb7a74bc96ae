#!/usr/bin/python3
"""What granary-web answers, to whom, and what it refuses: addresses, tokens, other sites, methods, long and strange requests, many
connections, readers that do not read; and a scheduler and a store that are stopped or killed while a page is open.

    server.py BIN_DIRECTORY
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine, until
from pages import Web, next_message

HTML = '<img src=x onerror=alert(1)>"\''
QUICK = ('--interval', '20ms', '--patience', '1s')


class Line(CommandLine):
    def ready(self):
        table = pathlib.Path(self.base, 'names.csv')
        table.write_text('"<b>name</b>",n\n"<script>alert(1)</script>",1\n')
        self.must('load', 'strange', str(table))
        self.must('put', '--id-from', HTML, str(table))
        self.must('name', HTML, f'name:{HTML}')


def pid_of(line, what):
    for row in json.loads(line.must('status', '--json'))['daemons']:
        if row['name'] == what:
            return row['pid']
    raise AssertionError(f'no {what}')


def refused(web, wanted, path, **request):
    status, headers, body = web.ask(path, **request)
    assert status == wanted, (path, request, status, body)
    assert b'"fields"' not in body and b'"sample"' not in body, body
    assert 'access-control-allow-origin' not in headers


def questions_are_answered(line, web):
    status, headers, body = web.ask('')
    assert status == 200 and body.startswith(b'<!doctype html>')
    assert "default-src 'none'" in headers['content-security-policy'] and 'unsafe' not in headers['content-security-policy']
    assert headers['x-content-type-options'] == 'nosniff' and headers['referrer-policy'] == 'no-referrer'
    assert web.rows('api/graphs')[0]['key'] == 'strange'
    assert web.rows('api/graphs?fields=key,state&last=1') == [{'key': 'strange', 'state': 'succeeded'}]
    runs = web.json('api/runs?last=2&fields=run')
    assert len(runs['rows']) == 2 and web.json(f'api/runs?cursor={runs["next"]}&fields=run')['rows'] == []
    first = web.json('api/runs?limit=1&fields=run')
    assert first['more'] and web.json(f'api/runs?cursor={first["next"]}&fields=run')['rows'][-1] == runs['rows'][-1]
    line.must('sql', 'SELECT count(*) FROM strange')
    assert any(row['run'].startswith('-/') for row in web.rows('api/runs?fields=run')), 'a query is deleted with its graph: its runs are told'
    nodes = web.json('api/nodes?key=strange')['nodes']
    assert sum(node['succeeded'] for node in nodes) == web.rows('api/graphs')[0]['subtasks']
    objects = web.json('api/objects?limit=1')
    assert len(objects['answer']) == 1 and objects['about']['next'].isdigit()
    assert any(HTML in row['names'] for row in web.json('api/objects')['answer'])
    assert 'nobody waits' in str(web.json('api/why')['answer'])
    assert web.json('api/rows?key=strange/table')['answer'][0]['value'] == [{'<b>name</b>': '<script>alert(1)</script>', 'n': 1}]
    assert isinstance(web.json('trace.json?key=strange'), list) and web.json('trace.json')
    status, headers, body = web.ask('metrics')
    assert status == 200 and headers['content-type'].startswith('text/plain') and b'granary_up' in body, (headers, body[:80])
    assert web.json('api/history')['rows'][0][1] == 1
    for path in ('api/account', 'api/clients', 'api/spaces', 'api/leases', 'api/segments', 'api/pages', 'api/recorder?last=3', 'api/top', 'api/executors', 'api/sessions'):
        assert web.json(path)
    status, headers, body = web.ask('api/graphs', 'HEAD')
    assert status == 200 and body == b'' and int(headers['content-length']) > 0


def other_sites_and_methods_are_refused(web):
    for method in ('POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND'):
        refused(web, 405, 'api/graphs', method=method)
    for host in ('evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'localhost.evil.example', '127.0.0.1:80@evil.example', '', '10.0.0.1'):
        refused(web, 403 if host else 403, '', Host=host)
    refused(web, 400, '', Host=['localhost', 'evil.example'])
    for origin in ('http://evil.example', 'null', 'http://localhost:1', 'http://localhost.evil.example', 'file://'):
        refused(web, 403, 'api/graphs', Origin=origin)
    for site in ('cross-site', 'same-site'):
        refused(web, 403, 'api/graphs', Sec_Fetch_Site=site)
        refused(web, 403, 'events', Sec_Fetch_Site=site)
    assert web.ask('api/graphs', Origin='http://localhost')[0] == 200
    refused(web, 400, 'api/graphs', Content_Length='5', body='hello')
    for path, wanted in (('api/nothing', 404), ('api/graphs?fields=nothing', 400), ('api/graphs?limit=-1', 400), ('api/graphs?limit=9999999', 400),
                         ('api/graphs?cursor=x', 400), ('api/graphs?key=', 400), ('api/graphs?key=nothing', 404), ('api/objects?state=--help', 400),
                         ('api/object?key=--version', 400), ('api/why?nothing=1', 400), ('api/nodes', 400), ('api/../etc/passwd', 404), ('page.def', 404),
                         ('api/logs?key=' + '../' * 30 + 'etc', 404)):
        refused(web, wanted, path)
    refused(web, 414, 'x' * 2000)
    refused(web, 400, 'api/why?' + '&'.join('key=x' for _ in range(40)))
    try:
        assert web.ask('api/why?key=' + 'x' * 100000)[0] in (400, 414, 431)
    except ConnectionError:
        pass  # it is refused before it was read to its end: the answer may be lost with what was not read
    assert web.rows('api/graphs')


def strange_requests_get_nothing(web):
    """Names of this machine that are none, addresses in the request line, doubled and folded headers, bodies that are hidden,
    other spellings of a path, and secrets in the wrong place. None of them is answered with anything of the instance."""
    secret, front = f'Authorization: Bearer {web.token}\r\n', web.front
    local = 'Host: localhost\r\n'

    def send(line, heads, body=''):
        with web.connect() as connection:
            answer = b''
            try:
                connection.sendall(f'{line}\r\n{heads}Connection: close\r\n\r\n{body}'.encode('latin1'))
                while more := connection.recv(1 << 16):
                    answer += more
            except ConnectionError:
                pass
        return int((answer.split(None, 2) + [b'0', b'0'])[1]), answer

    get = f'GET {front}api/graphs HTTP/1.1'
    assert send(get, local + secret)[0] == 200
    hosts = ('localhost.', '127.1', '0.0.0.0', '0', '2130706433', '0x7f.1', '127.0.0.1.nip.io', 'localhost:80:80', 'localhost evil', 'localhost, evil',
             'localhost\r\nhOST: evil', 'localhost\r\n evil', '[::]', '[::1', '::1', 'localhost:x', 'http://localhost', 'localhost/', '127.0.0.1@evil')
    strange = [(get, f'Host: {host}\r\n{secret}', '') for host in hosts]
    strange += [(f'GET http://{host}{front}api/graphs HTTP/1.1', local + secret, '') for host in ('evil.example', 'localhost')]
    strange += [(get, local + secret + more, body) for more, body in (
        ('Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'), ('Content-Length: -1\r\n', ''), ('Content-Length: 99999999999999999999\r\n', ''),
        ('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', f'0\r\n\r\n{get}\r\n{local}{secret}\r\n'), ('Expect: 100-continue\r\nContent-Length: 5\r\n', ''),
        ('Authorization: Bearer x\r\n', ''), ('Origin: http://localhost\r\nOrigin: http://evil.example\r\n', ''), ('Origin: \r\n', ''),
        ('X: ' + 'a' * 1000000 + '\r\n', ''), (''.join(f'X{n}: a\r\n' for n in range(20000)), ''))]
    strange += [(f'{line} HTTP/1.1', local, '') for line in (
        f'GET {front}api%2fgraphs', f'GET {front}%61pi/graphs', f'GET {front}%65vents', f'GET {front}API/graphs', f'GET {front};/api/graphs', f'GET {front}./api/graphs',
        f'GET {front}x/../api/graphs', f'GET /x/..{front}api/graphs', f'GET /{front}api/graphs', f'GET {front}metrics/', f'GET {front}trace.json%20',
        f'GET {front}api/graphs?token={web.token}', f'GET {front}api/graphs?Authorization=Bearer%20{web.token}', f'get {front}api/graphs')] if web.token else []
    strange += [(f'GET {front}api/graphs', '', ''), (f'GET {front}api/graphs HTTP/1.0', secret, '')]
    for line, heads, body in strange:
        status, answer = send(line, heads, body)
        assert (status >= 400 or status == 0) and b'"fields"' not in answer and b'"sample"' not in answer, (line, heads[:200], answer[:300])
    assert b'\r\nSet-Cookie' not in send(f'GET {front}api/graphs?fields=%0d%0aSet-Cookie:x=1 HTTP/1.1', local + secret)[1]
    assert web.rows('api/graphs')


def a_connection_takes_more_than_one_request(web):
    """Sent at once, too; and garbage behind them ends the connection alone."""
    with web.connect() as connection:
        secret = f'Authorization: Bearer {web.token}\r\n' if web.token else ''
        one = f'GET {web.front}api/graphs?fields=key HTTP/1.1\r\nHost: localhost\r\n{secret}\r\n'.encode()
        connection.sendall(one * 40 + b'\xff' * 100 + b'\r\n\r\n')
        answer = b''
        while more := connection.recv(1 << 16):
            answer += more
    assert answer.count(b'HTTP/1.1 200') == 40 and answer.count(b'[["strange"]]') == 40, answer[:500]


def numbers_are_whole(line, web):
    """JavaScript would round integers beyond 2^53: they are texts. A text with digits stays as it is."""
    line.must('sql', '--keep', 'large', "SELECT 9007199254740993 AS n, -9007199254740993 AS m, 7 AS k, 1.5e300 AS x, '\"9007199254740993,1' AS t")
    assert web.json('api/rows?key=large/result')['answer'][0]['value'] == [{'n': '9007199254740993', 'm': '-9007199254740993', 'k': 7, 'x': 1.5e300, 't': '"9007199254740993,1'}]
    assert [part['value'] for part in web.json(f'api/rows?key=large/result&key=strange/table')['answer']][1][0]['n'] == 1
    line.must('forget', 'large')
    assert all(row['text'] for row in web.json('api/recorder?last=5')['answer'])


def the_page_needs_its_token(web):
    for shown in (None, 'Bearer ', f'Bearer {"0" * 32}', f'Bearer {web.token}x', f'Basic {web.token}'):
        for path in ('api/graphs', 'events', 'trace.json', 'login'):
            refused(web, 401, path, Authorization=shown)
    assert web.ask('', Authorization=None)[0] == 200, 'the page itself tells nothing'
    cookie = web.ask('login')[1]['set-cookie']
    assert 'httponly' in cookie and 'samesite=strict' in cookie and 'path' not in cookie
    pair = cookie.split(';')[0]
    assert web.ask('api/graphs', Authorization=None, Cookie=f'a=b; {pair}')[0] == 200
    refused(web, 401, 'api/graphs', Authorization=None, Cookie=f'x{pair}')
    front, web.front = web.front, '/'
    refused(web, 404, 'api/graphs')
    web.front = front


def a_thousand_connections_harm_nobody(web):
    """A thousand connections that say nothing, and a slow one, cost others nothing; a reader that does not read is dropped."""
    web.json('api/account')
    before = web.memory()
    idle = [web.connect() for _ in range(1000)]
    slow = web.send('events', Connection=None)
    halves = [web.connect() for _ in range(10)]
    for half in halves:
        half.sendall(b'GET /api/gra')
    assert web.rows('api/graphs')
    assert web.memory() - before < 64 << 20, web.memory() - before
    assert next_message(web.stream())['store'] == 'serving'
    # The server sends until the buffers between are full, and then gives this reader up.
    until('the end of a reader that does not read', lambda: is_dropped(slow))
    for connection in (slow, *idle, *halves):
        connection.close()
    assert web.rows('api/graphs')


def is_dropped(connection):
    """Whether the other end of a unix socket is gone: the kernel says so without our reading."""
    import select
    poller = select.poll()
    poller.register(connection, select.POLLHUP)
    return bool(poller.poll(0))


def an_open_page_costs_nothing(web):
    """Nobody spins while nothing happens: there are moments at which all threads sleep, though pages are open."""
    streams = [web.stream() for _ in range(3)]
    for stream in streams:
        next_message(stream)
    until('a moment at which all sleep', lambda: set(web.states()) == {'S'})


def what_was_killed_may_be_asked_again(web):
    """The command that finds an answer is killed by somebody, or for want of memory."""
    answers = []
    while not any(status == 503 for status, _, _ in answers):
        asker = threading.Thread(target=lambda: answers.append(web.ask('api/objects')))
        asker.start()
        while asker.is_alive():
            for children in pathlib.Path(f'/proc/{web.process.pid}/task').glob('*/children'):
                for child in children.read_text().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(child), signal.SIGKILL)
        asker.join()
        assert answers[-1][0] in (200, 503), answers[-1]
    assert b'killed by signal 9' in answers[-1][2], answers[-1]


def the_page_outlives_the_daemons(line, web):
    stream = web.stream()
    assert next_message(stream)['store'] == 'serving'
    scheduler = pid_of(line, 'sched')
    os.kill(scheduler, signal.SIGSTOP)
    next_message(stream, lambda message: message['scheduler'] == 'stopped')
    status, _, body = web.ask('api/graphs')
    assert status == 503 and b'stopped' in body, body
    assert web.json('api/pages')['answer'] and web.json('api/account')['answer'], 'what needs no scheduler'
    os.kill(scheduler, signal.SIGCONT)
    next_message(stream, lambda message: message['scheduler'] == 'answers')
    until('an answer again', lambda: web.ask('api/graphs')[0] == 200)
    os.kill(scheduler, signal.SIGKILL)
    until('another scheduler', lambda: pid_of(line, 'sched') not in (0, scheduler))
    until('its answer', lambda: web.ask('api/graphs')[0] == 200)

    store = pid_of(line, 'store')
    os.kill(store, signal.SIGSTOP)
    next_message(stream, lambda message: message['store'] == 'stopped')
    assert web.json('api/objects')['answer'], 'objects are listed without their store'
    os.kill(store, signal.SIGKILL)
    next_message(stream, lambda message: message['store'] == 'serving' and message['store_pid'] not in (0, store))
    until('an answer again', lambda: web.ask('api/graphs')[0] == 200)
    assert any(HTML in row['names'] for row in web.json('api/objects')['answer'])
    line.must('down')
    gone = next_message(stream, lambda message: message['store'] == 'unknown')
    assert gone['scheduler'] == 'gone' and gone['sample'][1] == 0
    assert web.ask('api/graphs')[0] == 503
    line.up()
    next_message(stream, lambda message: message['store'] == 'serving')


def it_listens_nowhere_else(line):
    """Where it may listen."""
    def told(*options):
        ended = line.call('web', *options)
        return ended.returncode, ended.stderr

    with socket.socket() as taken, tempfile.TemporaryDirectory() as directory:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, error = told('--listen', f'127.0.0.1:{port}')
        assert status == 1 and 'another program has the port' in error, error
        for address in ('0.0.0.0:0', '10.1.2.3:80', '::1:0', 'localhost', 'localhost:x', 'localhost:70000', 'unix:', 'unix:' + 'x' * 200):
            status, error = told('--listen', address)
            assert status in (1, 2) and '--listen' in error, (address, status, error)
        file = pathlib.Path(directory, 'file')
        file.write_text('mine')
        status, error = told('--listen', f'unix:{file}')
        assert status == 1 and 'another file lies there' in error and file.read_text() == 'mine', error
        left = pathlib.Path(directory, 'left')
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(left))
        web = Web(line, '--listen', f'unix:{left}')
        assert left.stat().st_mode & 0o077 == 0
        assert told('--listen', f'unix:{left}')[0] == 1
        web.end()
        assert not left.exists()
        status, error = told('--listen', f'unix:{directory}/no/such')
        assert status != 0 and 'No such file' in error, error
        if os.geteuid() != 0:
            os.chmod(directory, 0o500)
            status, error = told('--listen', f'unix:{directory}/s')
            assert status == 7 and 'Permission denied' in error, error
            os.chmod(directory, 0o700)
    if os.geteuid() == 0:
        with tempfile.TemporaryDirectory(prefix='granary-test-') as place:  # others may not go where it was built
            os.chmod(place, 0o755)
            for name in ('granary', 'granary-web'):
                shutil.copy(os.path.join(os.path.dirname(line.granary), name), place)
            ended = subprocess.run([os.path.join(place, 'granary'), 'web'], env=line.environment, cwd='/', capture_output=True, text=True,
                                   user=65534, group=65534, extra_groups=[])
        assert ended.returncode == 7 and 'belongs to uid 0' in ended.stderr, (ended.returncode, ended.stderr)
    environment, line.environment = line.environment, {**line.environment, 'GRANARY_INSTANCE': f'{line.base}/nothing'}
    status, error = told()
    line.environment = environment
    assert status == 3 and 'granary up' in error, error


def a_browser_is_told_no_secret(line):
    """Arguments of a process are for everybody to read: they name a file, which leads to the page."""
    programs = pathlib.Path(line.base, 'programs')
    programs.mkdir()
    told = pathlib.Path(line.base, 'told')
    browser = programs / 'xdg-open'
    browser.write_text(f'#!/bin/sh\n[ "$(stat -c %a "$1")" = 600 ] && cat "$1" >{told}.new && echo "$*" >>{told}.new && mv {told}.new {told}\n')
    browser.chmod(0o755)
    environment, line.environment = line.environment, {**line.environment, 'PATH': f'{programs}:{os.environ["PATH"]}'}
    web = Web(line, '--open')
    text = until('the browser', lambda: told.exists() and told.read_text())
    page, arguments = text.splitlines()
    assert web.url.startswith('http://127.0.0.1:') and f'url={web.url}"' in page and web.token not in arguments, text
    web.end()
    line.environment = environment
    assert not pathlib.Path(arguments).exists()


def a_report_is_whole_or_not_there(line):
    file = pathlib.Path(line.base, 'report.html')
    assert line.must('report', 'strange', '-o', str(file)) == f'{file} has the report of graph strange\n'
    text = file.read_text()
    assert text.startswith('<!doctype html>') and text.rstrip().endswith('</html>') and 'src=' not in text and '<script>alert' not in text
    data = json.loads(text.split('window.GRANARY_REPORT = ')[1].split(';\n</script>')[0])
    assert data['key'] == 'strange' and data['results'] == ['strange/table']
    assert data['answers']['api/rows?key=strange%2Ftable&rows=0%3A5000']['answer'][0]['value'] == [{'<b>name</b>': '<script>alert(1)</script>', 'n': 1}]
    ended = line.call('report', 'nothing', '-o', str(file))
    assert ended.returncode == 4 and "'nothing'" in ended.stderr and file.read_text() == text, ended.stderr
    ended = line.call('report', 'strange', '-o', f'{line.base}/no/such.html')
    assert ended.returncode == 4 and 'no/such.html' in ended.stderr, ended.stderr
    assert line.must('report', 'strange', '-o', '-').startswith('<!doctype html>')
    device, link = pathlib.Path(line.base, 'device'), pathlib.Path(line.base, 'link')
    os.mkfifo(device)
    link.symlink_to(file)
    with subprocess.Popen(['cat', str(device)], stdout=subprocess.PIPE, text=True) as reader:
        line.must('report', 'strange', '-o', str(device))
        assert reader.communicate()[0].startswith('<!doctype html>')
    line.must('report', 'strange', '-o', str(link))
    assert device.is_fifo() and link.is_symlink(), 'nothing but a file is replaced'
    ended = line.call('report', 'strange', '-o', '/dev/full')
    assert ended.returncode == 5 and 'No space left' in ended.stderr and pathlib.Path('/dev/full').is_char_device(), (ended.returncode, ended.stderr)
    assert not list(pathlib.Path(line.base).glob('*.new'))


def who_takes_the_port_gets_no_token(line, url_file, url):
    """Somebody else listens where the page was that was killed: browsers tell him its token, which opens nothing afterwards."""
    url_file.write_text(url)
    where = url.removeprefix('http://').split('/')[0]
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((where.split(':')[0], int(where.split(':')[1])))
        taken.listen()
        ended = subprocess.run([os.path.join(os.path.dirname(line.granary), 'granary-web'), '--die-with-parent', '--listen', where],
                               env=line.environment, capture_output=True, text=True)
        assert ended.returncode == 1 and 'another program has the port' in ended.stderr, (ended.returncode, ended.stderr)
    web = Web(line, '--listen', where)
    assert web.url.startswith(f'http://{where}/') and web.url != url, web.url
    web.end()


def a_page_comes_with_its_instance(line):
    """`up --http`: the page comes and goes with its instance, and comes back when it is killed."""
    line.must('down')
    said = line.must('up', '--executors', '0', '--state', 'memory', '--http=127.0.0.1:0')
    url = said.split('its page is at ')[1].strip()
    assert url in line.must('status')
    url_file = pathlib.Path(line.environment['GRANARY_INSTANCE'], 'web.url')
    assert url_file.read_text() == url and url_file.stat().st_mode & 0o077 == 0
    killed = pid_of(line, 'web')
    os.kill(killed, signal.SIGKILL)
    until('another page', lambda: pid_of(line, 'web') not in (0, killed))
    assert url_file.read_text() == url, 'pages that are open go on'
    upgraded = line.must('upgrade', '--all')
    assert 'web' in upgraded and url_file.read_text() == url, upgraded
    line.must('down')
    assert not url_file.exists()
    url_file.parent.mkdir(mode=0o700)
    for left in ('', url[:-1], url + 'x', url.replace('127.0.0.1', 'localhost'), 'x' * 5000, f'http://127.0.0.1:{"9" * 100}/x'):
        url_file.write_text(left)
        web = Web(line, '--listen', '127.0.0.1:0')
        assert web.url not in (left, url), 'what is no address, and an orderly end, give a new one'
        web.end()
    who_takes_the_port_gets_no_token(line, url_file, url)
    url_file.parent.rmdir()
    ended = line.call('up', '--executors', '0', '--http=0.0.0.0:0')
    assert ended.returncode != 0 and '--listen 0.0.0.0:0' in ended.stderr, ended.stderr
    assert line.call('status').returncode == 3, 'nothing is left of it'


with Line(sys.argv[1]) as line:
    web = Web(line, *QUICK)
    questions_are_answered(line, web)
    other_sites_and_methods_are_refused(web)
    numbers_are_whole(line, web)
    a_thousand_connections_harm_nobody(web)
    an_open_page_costs_nothing(web)
    port = Web(line, '--listen', '127.0.0.1:0', *QUICK)
    other_sites_and_methods_are_refused(port)
    strange_requests_get_nothing(port)
    a_connection_takes_more_than_one_request(port)
    the_page_needs_its_token(port)
    what_was_killed_may_be_asked_again(port)
    the_page_outlives_the_daemons(line, port)
    assert web.process.wait(30) == 0, 'its socket was in the directory of the instance that went down'
    port.end()
    it_listens_nowhere_else(line)
    line.ready()
    a_browser_is_told_no_secret(line)
    a_report_is_whole_or_not_there(line)
    a_page_comes_with_its_instance(line)
