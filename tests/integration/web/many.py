#!/usr/bin/python3
"""The page with as many objects and subtasks as you like: how soon it shows the first ones, and how many frames a second it makes while
it scrolls through all that it has read. Figures, for a person to look at; what fails is a table that keeps more rows than are in sight.

    many.py BIN_DIRECTORY [COUNT]
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from chromium import Browser
from command_line import CommandLine, until
from pages import Web

COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 100000

FRAMES = '''
const done = arguments[1], box = [...document.querySelectorAll('.grid')].pop(), began = performance.now();
let frames = 0, longest = 0, before = began;
const step = now => {
  frames++;
  longest = Math.max(longest, now - before);
  before = now;
  box.scrollTop = (now - began) / arguments[0] * (box.scrollHeight - box.clientHeight);
  if (now - began < arguments[0]) requestAnimationFrame(step);
  else done({frames: frames / (now - began) * 1000, longest, rows: document.querySelectorAll('tbody tr').length});
};
requestAnimationFrame(step);
'''


def shown(browser):
    """Rows; or that there are none: the scheduler keeps the subtasks of an ended graph as long as there is room."""
    return browser.run('''return document.querySelectorAll("main .grid tbody tr:not([hidden])").length > 3 || (document.querySelector("main progress") !== null
        && [...document.querySelectorAll("main .nothing:not([hidden])")].some(none => /made room for others/.test(none.textContent)))''')


with CommandLine(sys.argv[1], '--history', str(max(COUNT, 1 << 18)), memory='3G') as line, Browser() as browser:
    graph = pathlib.Path(line.base, 'graph.json')
    graph.write_text(json.dumps({'nodes': {'numbers': {'op': 'arange', 'stop': COUNT, 'chunk': [1]}}}))
    line.must('run', str(graph))
    key = json.loads(line.must('graphs', '--json'))[0]['key']
    web = Web(line, '--listen', '127.0.0.1:0')
    browser.look(1280, 1000)
    for view in ('overview', 'objects', f'graphs/{key}', 'tasks'):
        browser.driver.get('about:blank')
        browser.driver.get(web.url)
        until('the token taken', lambda: browser.run('return location.hash') == '')
        browser.driver.get('about:blank')
        browser.driver.get(f'{web.url.split("#")[0]}#{view}')
        if view in ('objects', f'graphs/{key}'):
            until('rows', lambda: shown(browser))
        paint = browser.run('return performance.getEntriesByType("paint").find(entry => entry.name === "first-contentful-paint").startTime')
        now = browser.run('return performance.now()')
        print(f'{view.split("/")[0]}: first paint after {paint:.0f} ms, rows before {now:.0f} ms')
        if view in ('objects', f'graphs/{key}'):
            for _ in range(3):
                moved = browser.driver.execute_async_script(FRAMES, 4000)
                print(f'  scrolling: {moved["frames"]:.0f} frames a second, the longest {moved["longest"]:.0f} ms, {moved["rows"]} rows are elements')
                assert moved['rows'] < 200
    web.end()
