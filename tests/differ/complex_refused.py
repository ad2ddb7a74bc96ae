#!/usr/bin/python3
"""Complex tensors given to every operator of tensors: those that do not know them refuse them, by the operator's name and the dtype."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support' / 'py'))

from draw import COMPLEX, Draw, complexed
from engine import Engine
from granary_test import GranaryError
from tensor_complex import OPERATORS as OWN, TAKES
from tensor_ops import OPERATORS
import graphs_tensor

KNOWN = TAKES | {'array'} | set(OWN) - {'make_complex', 'rfft'}


def asked(name):
    """A case of the operator with all of its tensors complex; None: it takes none."""
    for number in range(20):
        draw = Draw(number)
        inputs, parameters = OPERATORS[name][0](draw)
        if inputs and all(kept['shape'] and 0 not in kept['shape'] for kept in inputs):
            return {'op': name, 'inputs': [complexed(draw, dict(kept, values=[0.5 for _ in kept['values']])) for kept in inputs],
                    'parameters': parameters, 'chunk_bytes': 0}
    return None


def main():
    part, wrong, refused = graphs_tensor.Part(), [], 0
    with Engine() as engine:
        part.open(engine)
        for name in sorted(OPERATORS):
            spec = None if name in KNOWN else asked(name)
            if spec is None:
                continue
            answer, = engine.run_cases([part.nodes(spec)])
            text = str(answer) if isinstance(answer, GranaryError) else ''
            named = [dtype for dtype in COMPLEX if dtype in text]
            if not named or name not in text:
                wrong.append(f'{name}: {text or answer!r}')
            refused += 1
    print('\n'.join(wrong) if wrong else f'{refused} operators refuse complex tensors')
    return 1 if wrong or refused < 60 else 0


if __name__ == '__main__':
    sys.exit(main())
