"""TPC-H on two nodes, with every table cut: the answers of one instance. And a cluster with TLS, whose transfers have it, too."""
import os
import pathlib
import subprocess
import unittest

from cluster import BIN, Cluster, ClusterTest, granary, plan, stage, _plan
from granary.dask import _drive, _results

SOURCE = os.environ.get('GRANARY_SOURCE', os.getcwd())


class Queries(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        data = os.path.join(cls.cluster.directory, 'tpch')
        os.mkdir(data)
        subprocess.run([os.path.join(BIN, 'granary-tpch-gen'), '0.01', data], check=True, stdout=subprocess.DEVNULL)
        cls.here = granary.up(executors=1, memory='128M')
        cls.addClassCleanup(cls.here.down)
        for path in pathlib.Path(data).glob('*.csv'):
            cls.here.execute(f"CREATE VIEW {path.stem} AS SELECT * FROM '{path}'")

    def test_tpch(self):
        for path in sorted(pathlib.Path(SOURCE, 'tools/bench/tpch').glob('q*.sql')):
            with self.subTest(path.stem):
                text = path.read_text().strip().rstrip(';')
                near, far = granary.sql(text), granary.dask.sql(self.client, text, 2, smallest=1)
                self.assertEqual(far.schema, near.schema)
                self.assertEqual(far.to_dict(), near.to_dict())


def transfers_are_encrypted(test):
    """A certificate of our own is needed to speak to a node's server at all."""
    import socket
    import tempfile

    from distributed.security import Security

    keys = tempfile.mkdtemp(prefix='granary-dask-keys-')
    test.addCleanup(subprocess.run, ['rm', '-rf', keys])
    cert, key = os.path.join(keys, 'cert.pem'), os.path.join(keys, 'key.pem')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-days', '30', '-subj', '/CN=127.0.0.1'],
                   check=True, stderr=subprocess.DEVNULL)
    cluster = Cluster(2, ['--tls-ca-file', cert, '--tls-cert', cert, '--tls-key', key, '--protocol', 'tls'],
                      security=Security(tls_ca_file=cert, tls_client_cert=cert, tls_client_key=key, require_encryption=True))
    test.addCleanup(cluster.close)
    source = stage('source', {'out': {'op': 'arange', 'stop': 1000000}})
    first = _plan.Plan.of(plan(source)).stages['source']
    made = cluster.client.submit(_drive.fragment, first, 0, [], key=first.key(0), workers=[cluster.address('n1')])
    reads = stage('reads', {'in': {'op': 'array', 'dtype': 'int64'}, 'out': {'op': 'sum', 'input': 'in'}}, inputs={'in': ('source', 'all')})
    second = _plan.Plan.of(plan(source, reads)).stages['reads']
    summed = cluster.client.submit(_drive.fragment, second, 0, [['in', 'all', [made]]], key=second.key(0), workers=[cluster.address('n2')])
    test.assertEqual(int(_results.without(cluster.client, summed)), 999999 * 500000)
    with granary.up(executors=1, memory='64M') as here:
        test.assertEqual(len(_results.array(_results.here(cluster.client, here, made))), 1000000)
    origin = made.result().origin
    with socket.create_connection((origin.host, origin.port), 10) as one:
        one.settimeout(10)
        one.sendall(origin.secret + b'\0\0\0\1' + made.result().chunks[0].id)
        answer = b''
        try:
            while some := one.recv(1000):
                answer += some
        except ConnectionError:
            pass
        test.assertNotIn(b'GRNOBJ', answer)
    del made, summed


class Tls(unittest.TestCase):
    def test_transfers_are_encrypted(self):
        transfers_are_encrypted(self)


if __name__ == '__main__':
    unittest.main(verbosity=2)
