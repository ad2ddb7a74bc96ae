"""A cluster for the load: `nodes.py DIRECTORY` keeps two nodes under Dask until its standard input ends.

Each node has an instance of granary of its own. Another one takes the place of a node that has ended. DIRECTORY/nodes.json is Dask's file
of its scheduler as soon as both are there, and DIRECTORY/nodes.csv is what is asked about. At the end nothing may be left of any node.
"""
import os
import select
import sys

DIRECTORY = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = 60000
os.environ['TMPDIR'] = DIRECTORY
sys.path.insert(0, os.path.join(HERE, '..', '..', 'integration', 'dask'))

from cluster import Cluster  # noqa: E402


def main():
    with open(os.path.join(DIRECTORY, 'nodes.csv'), 'w', encoding='ascii') as file:
        file.write('k,v\n' + ''.join(f'{i % 7},{i * 31 % 1000}\n' for i in range(ROWS)))
    cluster = Cluster(2, memory='64M')
    try:
        os.symlink(cluster.file, os.path.join(DIRECTORY, 'nodes.json'))
        nodes = {os.pidfd_open(one.pid): one for one in cluster.workers.values()}
        while sys.stdin.fileno() not in (ready := select.select([sys.stdin.fileno(), *nodes], [], [])[0]):
            for fd in ready:
                nodes.pop(fd).wait()
                os.close(fd)
                name = f'n{len(cluster.workers) + 1}'
                cluster.add(name)
                nodes[os.pidfd_open(cluster.workers[name].pid)] = cluster.workers[name]
    finally:
        cluster.close()


main()
