"""What a frame owns is there as long as something needs it, and no longer: graphs, objects, leases."""
import gc
import json
import os
import signal
import subprocess
import sys
import unittest

from frames_test import BIN, HERE, FramesTest, gr


class Lifetimes(FramesTest):
    def objects(self):
        gc.collect()
        return len(json.loads(self.instance.command('ls', '--json')))

    def setUp(self):
        gc.collect()
        self.assertEqual(self.graphs(), [])
        self.before = self.objects()

    def tearDown(self):
        gc.collect()
        self.assertEqual(self.graphs(), [])
        self.engine_clear()
        self.assertEqual(self.objects(), self.before)

    def engine_clear(self):
        self.instance.command('recall', 'clear')

    def test_frames(self):
        plan = gr.from_dict({'n': [1, 2, 3]})
        done = plan.filter(gr.col('n') > 1).collect()
        self.assertEqual(len(self.graphs()), 1)
        other = done.lazy().head(1)
        chunk = next(iter(done))
        del done
        gc.collect()
        self.assertEqual(len(self.graphs()), 1)
        self.assertEqual(other.collect().to_dict(), {'n': [2]})
        del other
        gc.collect()
        self.assertEqual(chunk.to_dict(), {'n': [2, 3]})
        column = chunk['n']
        del chunk
        gc.collect()
        self.assertEqual(self.graphs(), [])
        self.assertEqual(column.tolist(), [2, 3])

    def test_put(self):
        plan = gr.from_dict({'n': list(range(100))}, pieces=4)
        longer = plan.filter('n > 3')
        self.assertEqual(self.objects(), self.before + 4)
        del plan
        self.assertEqual(self.objects(), self.before + 4)
        self.assertEqual(len(longer.collect()), 96)

    def test_sql(self):
        plan = gr.from_dict({'n': [1, 2, 3]})
        done = gr.sql('SELECT * FROM plan, q', q=plan.rename(n='m').collect())
        self.assertEqual((len(done), done.to_dict()['m']), (9, [1, 2, 3] * 3))
        every = gr.sql('SELECT * FROM plan')
        del plan  # the rows of `every` may be those of the plan, under another name
        gc.collect()
        self.assertEqual(every.to_dict(), {'n': [1, 2, 3]})
        del done, every
        gc.collect()
        self.assertEqual(self.graphs(), [])
        plan = gr.from_dict({'n': [1, 2, 3]})
        with self.assertRaises(gr.GranaryError):
            gr.sql('SELECT nope FROM plan')

    def test_rows_under_another_name(self):
        """head(), slice() and concat() may hand chunks on: they live as long as the result."""
        plan = gr.from_dict({'n': list(range(40))}, pieces=4)
        whole = plan.collect()
        some = [plan.head(15).collect(), gr.concat([plan, plan]).tail(20).collect(), whole.lazy().slice(0, 30).collect(), plan.rebalance(100).collect()]
        table = plan.head(20).persist('independent')
        del plan, whole
        gc.collect()
        self.assertEqual([len(f.to_dict()['n']) for f in some], [15, 20, 30, 40])
        del some
        gc.collect()
        self.assertEqual(gr.table('independent').collect().to_dict()['n'], list(range(20)))
        self.assertEqual(table.columns, ['n'])
        self.engine.delete('independent')

    def test_failures(self):
        plan = gr.from_dict({'n': [1, 2**62]})
        for wrong in (lambda: plan.with_columns(m=gr.col('n') * 4).collect(), lambda: plan.select('m').collect(), lambda: plan.persist('a/b' * 100)):
            with self.assertRaises(gr.GranaryError):
                wrong()
        self.assertEqual(self.graphs(), [])

    def test_interrupted(self):
        def progress(share):
            raise KeyboardInterrupt

        plan = gr.from_dict({'n': list(range(2000))})
        with self.assertRaises(KeyboardInterrupt):
            plan.join(plan.rename(n='m'), how='cross').agg(s='sum(n * m)').collect(progress=progress)
        self.assertEqual(self.graphs(), [])

    def test_deleted(self):
        done = gr.from_dict({'n': [1]}).collect()
        done.delete()
        self.assertEqual(repr(done), '<Frame: deleted>')
        with self.assertRaisesRegex(RuntimeError, 'deleted'):
            done.to_dict()

    def test_end_of_a_program(self):
        """Frames that are alive when a program ends are deleted by its end."""
        program = ('import frames_test, granary\nfrom granary import frames as gr\ngranary.connect(%r)\nkept = gr.from_dict({"n": [1]}).collect()\nprint(len(kept))' % self.instance.instance)
        done = subprocess.run([sys.executable, '-c', program], cwd=HERE, env={**os.environ, 'GRANARY_BIN': BIN}, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ('1\n', ''))

    def test_killed(self):
        """Frames of a program that is killed go, too: what the scheduler knows of it, the next scheduler knows as well."""
        program = ('import frames_test, granary\nfrom granary import frames as gr\nsession = granary.connect(%r)\n'
                   'kept = gr.from_dict({"n": [1]}).filter("n > 0").collect()\ngr.from_dict({"n": [2]}).persist("stays", replace=True)\n'
                   'print("ready", flush=True)\ninput()' % self.instance.instance)
        for scheduler_dies in (False, True):
            child = subprocess.Popen([sys.executable, '-W', 'ignore', '-c', program], cwd=HERE, env={**os.environ, 'GRANARY_BIN': BIN},
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.assertEqual(child.stdout.readline(), 'ready\n')
            self.assertEqual(len(self.graphs()), 2)
            with self.session.events(['delete']) as events:
                if scheduler_dies:
                    with open(os.path.join(self.instance.instance, 'instance.json'), encoding='utf-8') as file:
                        os.kill(json.load(file)['sched_pid'], signal.SIGKILL)
                child.kill()
                child.communicate()
                while self.graphs() != ['stays']:
                    events.next(30)
            self.assertEqual(gr.table('stays').collect().to_dict(), {'n': [2]})
            self.instance.command('forget', 'stays')


if __name__ == '__main__':
    unittest.main()
