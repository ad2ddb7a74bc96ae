"""An instance of one's own: it ends with the program, however that ends; what the package logs."""
import logging
import os
import select
import signal
import subprocess
import sys
import unittest

from package_test import PackageTest, granary

PROGRAM = '''
import json, os, signal, sys
sys.path[:0] = {path!r}
import granary
session = granary.up(executors=1, memory='64M')
session.put(b'something', 'name')
session.put(b'on disk', 'kept', persist=True)
print(session.instance, json.load(open(session.instance + '/instance.json'))['shm_prefix'], *session._directories[1:], flush=True)
{end}
'''


def runs(end, fds=()):
    """Run a program that has an instance; its exit status, the instance's directory and the prefix of its memory's names."""
    done = subprocess.Popen([sys.executable, '-c', PROGRAM.format(path=sys.path, end=end)], stdout=subprocess.PIPE, text=True, pass_fds=fds)
    place = done.stdout.readline().split()
    done.stdout.close()
    return done.wait(), place


def pgrep(pattern):
    """Numbers of the processes whose command line matches. Below a preloaded libasan it would hang."""
    plain = {name: value for name, value in os.environ.items() if name != 'LD_PRELOAD'}
    return subprocess.run(['pgrep', '-f', pattern], capture_output=True, text=True, env=plain).stdout.split()


class Ends(unittest.TestCase):
    def gone(self, place):
        """Until its guard has ended it."""
        directory, prefix, spill = place
        for pid in pgrep(f'granary down --instance {directory}|/bin/sh.*{directory}'):
            try:
                fd = os.pidfd_open(int(pid))
            except ProcessLookupError:
                continue
            self.assertTrue(select.select([fd], [], [], 60)[0], 'its guard still runs')
            os.close(fd)
        self.assertFalse(os.path.exists(directory) or os.path.exists(spill))
        self.assertEqual([one for one in os.listdir('/dev/shm') if one.startswith(prefix.strip('/'))], [])
        self.assertEqual(pgrep(f'granary-store.*--instance {directory}'), [])

    def test_killed(self):
        status, place = runs('os.kill(os.getpid(), signal.SIGKILL)')
        self.assertEqual(status, -signal.SIGKILL)
        self.gone(place)

    def test_without_down(self):
        status, place = runs('os._exit(3)')
        self.assertEqual(status, 3)
        self.gone(place)

    def test_forked_child_lives_on(self):
        """A child that was forked may use it after its parent was killed; it ends with the last of them."""
        ready, wrote = os.pipe()
        os.set_inheritable(wrote, True)
        end = (f'parent = os.getpid()\n'
               'if os.fork() == 0:\n'
               '    while os.getppid() == parent: pass\n'
               f'    os.write({wrote}, bytes(granary.connect(session.instance).get("name")))\n'
               '    os._exit(0)\n'
               'os.kill(os.getpid(), signal.SIGKILL)')
        status, place = runs(end, [wrote])
        os.close(wrote)
        self.assertEqual(status, -signal.SIGKILL)
        with os.fdopen(ready, 'rb') as file:
            self.assertEqual(file.read(), b'something')
        self.gone(place)


class Logs(PackageTest):
    executors = 1

    def test_logs(self):
        with self.assertLogs('granary', logging.DEBUG) as logs:
            with granary.connect(self.session.instance, 'other'):
                pass
            granary.from_dict({'n': [1]}).collect()
        self.assertRegex(logs.output[0], 'INFO:granary:connected to session other of instance ')
        self.assertRegex(logs.output[-1], r'DEBUG:granary:graph \w+: succeeded after 0\.\d+ s')


if __name__ == '__main__':
    unittest.main()
