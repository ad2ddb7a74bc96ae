"""A granary-web of an instance, and requests that are sent to it as they are written here."""
import json
import pathlib
import socket
import subprocess

from command_line import PATIENCE


class Web:
    def __init__(self, line, *options):
        self.process = line.start('web', *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = self.process.stdout.readline()
        if not said:
            raise RuntimeError(self.process.communicate()[1].strip())
        self.url = said.split()[-1]
        if self.url.startswith('unix:'):
            self.address, self.front, self.token = self.url[5:], '/', None
        else:
            self.host, rest = self.url.removeprefix('http://').split('/', 1)
            self.address = ('127.0.0.1', int(self.host.split(':')[1]))
            word, self.token = rest.split('#')
            self.front = f'/{word}'

    def connect(self):
        if isinstance(self.address, str):
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(PATIENCE)
            connection.connect(self.address)
            return connection
        return socket.create_connection(self.address, PATIENCE)

    def send(self, path, method='GET', body='', **headers):
        """A connection on which the request is under way. A header None is left out; one with a list comes several times."""
        given = {'Host': 'localhost', 'Connection': 'close', 'Authorization': self.token and f'Bearer {self.token}', **headers}
        lines = [f'{name.replace("_", "-")}: {value}' for name, values in given.items() if values is not None
                 for value in (values if isinstance(values, list) else [values])]
        connection = self.connect()
        connection.sendall('\r\n'.join([f'{method} {self.front}{path} HTTP/1.1', *lines, '', body]).encode())
        return connection

    def ask(self, path, method='GET', **headers):
        """(status, headers, body)"""
        with self.send(path, method, **headers) as connection:
            answer = b''
            while more := connection.recv(1 << 16):
                answer += more
        head, _, body = answer.partition(b'\r\n\r\n')
        first, *rest = head.decode().split('\r\n')
        return int(first.split()[1]), dict(line.lower().split(': ', 1) for line in rest), body

    def json(self, path):
        status, _, body = self.ask(path)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def rows(self, path):
        table = self.json(path)
        return [dict(zip(table['fields'], row)) for row in table['rows']]

    def stream(self):
        return self.send('events', Connection=None).makefile('rb')

    def memory(self):
        """Resident bytes."""
        return int(pathlib.Path(f'/proc/{self.process.pid}/statm').read_text().split()[1]) * 4096

    def states(self):
        """Of its threads, as the kernel names them: S sleeps, R runs."""
        return [pathlib.Path(thread, 'stat').read_text().rsplit(')', 1)[1].split()[0] for thread in pathlib.Path(f'/proc/{self.process.pid}/task').iterdir()]

    def end(self):
        self.process.terminate()
        error = self.process.communicate()[1]
        assert self.process.returncode == 0, (self.process.returncode, error)


def next_message(stream, check=lambda message: True):
    """The next one of a stream that is as wanted."""
    for line in stream:
        if line.startswith(b'data: '):
            message = json.loads(line[6:])
            if check(message):
                return message
    raise AssertionError('the stream has ended')
