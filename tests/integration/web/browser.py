#!/usr/bin/python3
"""The page in Chromium: every view in light, dark and on a phone, without a complaint of the browser or of axe-core; names that are
HTML; keys; a report; and what it says when the scheduler and the store are stopped or killed while it is open.

    browser.py BIN_DIRECTORY [SCREENSHOT_DIRECTORY]
"""
import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from chromium import Browser
from command_line import CommandLine, until
from pages import Web

HTML = '<img src=x onerror=alert(1)>"\''
VIEWS = ('overview', 'tasks', 'graphs', 'graphs/strange', 'objects', 'results', 'results/strange%2Ftable', 'results/waves%2Fresult', 'sessions', 'events')
AXE = pathlib.Path(os.environ.get('GRANARY_PEERS', '/nonexistent'), 'node_modules/axe-core/axe.min.js')
SHOTS = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None


class Line(CommandLine):
    def ready(self):
        table = pathlib.Path(self.base, 'names.csv')
        table.write_text('"<b>name</b>",n\n' + ''.join(f'"<script>alert({i})</script>",{i}\n' for i in range(200)))
        self.must('load', 'strange', str(table))
        self.must('put', '--id-from', HTML, str(table))
        self.must('name', HTML, f'name:{HTML}')
        self.must('sql', '--keep', 'waves', 'SELECT n, sin(n) AS s FROM strange')
        self.must('sql', '--keep', 'turned', "SELECT chr(8238) || 'abc' || chr(27) || '[31m' AS t, 9007199254740993 AS n, 0.0001 AS d FROM generate_series(1, 3)")
        self.must('sql', 'CREATE TABLE clicks (page text)')


def pid_of(line, what):
    return next(row['pid'] for row in json.loads(line.must('status', '--json'))['daemons'] if row['name'] == what)


def text(browser, selector='main'):
    return browser.run('const found = document.querySelector(arguments[0]); return found && !found.hidden ? found.textContent : ""', selector)


def go(browser, view):
    browser.run('location.hash = "#" + arguments[0]', view)
    until(f'view {view}', lambda: browser.run('return document.querySelector("h1") !== null && location.hash === "#" + arguments[0]', view))
    until(f'the content of {view}', lambda: browser.run('''return ![...document.querySelectorAll("p")].some(p => /^(Reading|Asking) …/.test(p.textContent))
        && (document.querySelectorAll("main tbody tr:not([hidden])").length > 0 || document.querySelectorAll("main .nothing:not([hidden])").length > 0)'''))


def complaints(browser):
    if not AXE.exists():
        return []
    browser.run(AXE.read_text())
    found = browser.driver.execute_async_script('axe.run(document, {resultTypes: ["violations"]}).then(arguments[0])')
    return [(finding['id'], [node['html'][:200] for node in finding['nodes']][:3], [node.get('failureSummary', '')[:300] for node in finding['nodes']][:1]) for finding in found['violations']]


def every_view_is_fine(browser):
    for name, width, height, dark in (('light', 1280, 1000, False), ('dark', 1280, 1000, True), ('phone', 390, 844, False)):
        browser.look(width, height, dark)
        for view in VIEWS:
            go(browser, view)
            assert browser.run('return document.documentElement.scrollWidth <= innerWidth'), (name, view, 'is wider than the window')
            found = complaints(browser)
            assert found == [], (name, view, found)
            if SHOTS is not None:
                browser.driver.save_screenshot(str(SHOTS / f'{view.replace("/", "_")}_{name}.png'))
    assert browser.said() == []


def names_are_text(browser):
    browser.look(1280, 1000)
    go(browser, 'objects')
    until('the name', lambda: HTML in text(browser))
    go(browser, 'results/strange%2Ftable')
    until('the column', lambda: '<b>name</b>' in text(browser) and '<script>alert(3)</script>' in text(browser))
    go(browser, 'results/turned%2Fresult')
    until('what turns text and terminals, by its number', lambda: '\\u202eabc\\u001b[31m' in text(browser))
    assert '9007199254740993' in text(browser)
    for kind in browser.run('return G.plots'):
        browser.run('const kind = document.querySelector("main select"); kind.value = arguments[0]; kind.dispatchEvent(new Event("change"))', kind)
        said = browser.run('return document.querySelector("canvas.plot").getAttribute("aria-label")')
        assert said.startswith(f'{kind} plot of n'), said
    assert browser.run('return [G.tick(0.0025, 0.0005), G.tick(-1e-20, 0.1), G.tick(1e308, 2e307), G.short(2.5e9)].join()') == '0.0025,0.0,1e308,2.5 G'
    assert browser.run('return document.querySelectorAll("main img, main script, main b b, td b, th b").length') == 0
    assert browser.said() == []


def keys_reach_everything(browser):
    """Tab comes to the skip link first, then to all views; the task stream moves by arrow keys."""
    go(browser, 'tasks')
    browser.run('document.activeElement.blur()')
    reached = []
    for _ in range(14):
        browser.press('\ue004')
        reached.append(browser.run('const at = document.activeElement; return at.tagName + ":" + (at.textContent || at.getAttribute("aria-label"))'))
    assert reached[0] == 'A:Skip to the content', reached
    for name in ('A:Overview', 'A:Objects', 'A:Events'):
        assert name in reached, reached
    assert any(name.startswith('CANVAS:') for name in reached), reached
    browser.run('document.querySelector("canvas.stream").focus()')
    browser.press('\ue012')
    assert browser.run('return !document.querySelector(".streambox button").hidden'), 'it moved into the past'
    browser.press('\ue011')
    assert browser.run('return document.querySelector(".streambox button").hidden'), 'it is back at now'
    link = 'document.querySelector("main .scroll a, main .scroll")'
    browser.run(f'{link}.focus(); window.focused = {link}')
    until('a newer table', lambda: browser.run(f'return window.focused !== {link}'))
    assert browser.run(f'return document.activeElement === {link}'), 'a table that is new has the focus that the old one had'


def why_is_told(browser):
    go(browser, 'graphs/strange')
    browser.run('[...document.querySelectorAll("button")].find(button => button.textContent === "Why?").click()')
    until('a reason', lambda: 'is succeeded' in text(browser))
    go(browser, 'objects')
    until('an object', lambda: browser.run('const first = document.querySelector(".grid button.link"); if (first) first.click(); return first !== null'))
    until('who holds an object', lambda: 'Nobody has pinned it' in text(browser))


def the_token_is_a_secret(browser, web):
    """It leaves the address, and a new tab of this browser needs it no more; another address does not help."""
    assert browser.run('return location.href').split('#')[0] == web.url.split('#')[0] and web.token not in browser.run('return location.href')
    assert browser.run('return document.cookie') == '', 'scripts do not see it'
    browser.driver.get(web.url.split('#')[0])
    until('the page again', lambda: 'MiB' in text(browser))
    browser.said()
    browser.driver.get(web.url.split('#')[0].replace('127.0.0.1', 'localhost'))
    until('a refusal', lambda: 'token is missing' in text(browser, '#alert'))
    browser.driver.get(web.url)
    until('the page again', lambda: 'MiB' in text(browser))
    browser.said()


def it_says_what_is_dead(browser, line):
    go(browser, 'overview')
    scheduler = pid_of(line, 'sched')
    os.kill(scheduler, signal.SIGSTOP)
    until('that it is stopped', lambda: 'The scheduler is stopped' in text(browser, '#alert'))
    os.kill(scheduler, signal.SIGCONT)
    until('that it goes on', lambda: text(browser, '#alert') == '')
    os.kill(scheduler, signal.SIGKILL)
    until('another scheduler', lambda: pid_of(line, 'sched') not in (0, scheduler))
    until('that all is well', lambda: text(browser, '#alert') == '' and text(browser, '#scheduler') == 'scheduler answers')
    store = pid_of(line, 'store')
    os.kill(store, signal.SIGSTOP)
    until('that it is stopped', lambda: 'The store is stopped' in text(browser, '#alert'))
    os.kill(store, signal.SIGKILL)
    until('that all is well', lambda: text(browser, '#alert') == '' and text(browser, '#store') == 'store serves' and pid_of(line, 'store') not in (0, store))
    go(browser, 'objects')
    until('objects', lambda: HTML in text(browser))
    line.must('down')
    until('that nothing is there', lambda: 'The store is gone' in text(browser, '#alert') and 'The scheduler is gone' in text(browser, '#alert'))
    line.up()
    until('that all is well', lambda: text(browser, '#alert') == '')
    complained = [message for message in browser.said() if 'status of 50' not in message]
    assert complained == [], complained


def a_report_stands_alone(browser, line):
    file = pathlib.Path(line.base, 'report.html')
    line.must('report', 'waves', '-o', str(file))
    assert '<script>alert' not in file.read_text().replace('\\u003c', '')
    browser.driver.get(file.as_uri())
    until('the report', lambda: 'Graph waves' in text(browser) and '200 rows' in text(browser))
    for name, width, height, dark in (('light', 1280, 1600, False), ('dark', 1280, 1600, True), ('phone', 390, 844, False)):
        browser.look(width, height, dark)
        assert complaints(browser) == []
        if SHOTS is not None:
            browser.driver.save_screenshot(str(SHOTS / f'report_{name}.png'))
    assert browser.said() == []


with Line(sys.argv[1]) as line, Browser() as browser:
    web = Web(line, '--listen', '127.0.0.1:0')
    browser.look(1280, 1000)
    browser.driver.get(web.url)
    until('the page', lambda: 'MiB' in text(browser))
    every_view_is_fine(browser)
    names_are_text(browser)
    keys_reach_everything(browser)
    why_is_told(browser)
    a_report_stands_alone(browser, line)
    browser.look(1280, 1000)
    browser.driver.get(web.url)
    the_token_is_a_secret(browser, web)
    it_says_what_is_dead(browser, line)
    web.end()
