"""A client of the cluster, for the campaign, as a process. Each line of its input asks; lines of its output tell shares of a call, and then
a digest of the answer or the error. It has the instance that is up on its machine."""
import hashlib
import json
import os
import subprocess
import tempfile
import warnings

import granary
import granary.dask
from distributed import Client
from granary.dask._slow import everywhere

PARTITIONS = 4


def digest(value):
    """The same for the same bytes."""
    if hasattr(value, 'to_dict'):
        text = repr(value.schema) + repr(value.to_dict())
        return hashlib.sha256(text.encode()).hexdigest()
    import numpy as np

    array = np.asarray(value)
    return hashlib.sha256(f'{array.dtype} {array.shape} '.encode() + array.tobytes()).hexdigest()


def left(node):
    return [one['key'] for one in node.client.info('graphs')[0]] + [one['id'].hex() for one in node.client.list_objects() if one['state'] != 'deleting']


def left_on(dask_worker):
    from granary.dask import _plugin

    found = left(_plugin.node_of(dask_worker))
    return found + [f"Dask's {state.state} {key}" for key, state in dask_worker.state.tasks.items()] if found else []


def name_of(dask_worker):
    return dask_worker.name


class Asker:
    def __init__(self, address):
        self.address = address
        self.client = None

    def connected(self):
        if self.client is None:
            self.client = Client(self.address, timeout=30)
        return self.client

    def near(self, given):
        """On one machine: this one."""
        if 'sql' in given:
            return digest(granary.sql(given['sql']))
        import numpy as np

        with tempfile.TemporaryDirectory() as directory:
            path = f'{directory}/out.npy'
            subprocess.run(['granary', 'run', '--discard', '--csv', '-', '-o', f'out={path}'], input=json.dumps(given['graph']), text=True, check=True,
                           stdout=subprocess.DEVNULL)
            return digest(np.load(path))

    def far(self, given):
        told = [0.0]

        def progress(share):
            if share - told[0] >= 0.02:
                told[0] = share
                tell(share=share)

        options = {'progress': progress, 'timeout': given['timeout'], 'smallest': 1}
        if 'sql' in given:
            return digest(granary.dask.sql(self.connected(), given['sql'], PARTITIONS, **options))
        return digest(granary.dask.run(self.connected(), given['graph'], PARTITIONS, **options)['out'])

    def left(self, given):
        """What lies on the nodes while nothing is wanted of them."""
        return {address: one for address, one in everywhere(self.connected(), left_on).items() if one}

    def workers(self, given):
        """Names of those that answer. Dask's scheduler may have others, whose machines have died, for a while."""
        return list(everywhere(self.connected(), name_of).values())

    def renew(self, given):
        """Another client, in the place of one that says that it is closed."""
        old, self.client = self.client, None
        if old is not None:
            old.close(timeout=5)
        return bool(self.connected())


def tell(**what):
    os.write(1, json.dumps(what).encode() + b'\n')


def serve(address):
    """Of the process that is this client."""
    warnings.simplefilter('ignore')
    asker = Asker(address)
    with open(0, encoding='utf-8', closefd=False) as asked:
        for line in asked:
            given = json.loads(line)
            try:
                tell(done=getattr(asker, given['ask'])(given))
            except Exception as error:
                tell(error=f'{type(error).__module__}.{type(error).__name__}', text=str(error)[:2000])
