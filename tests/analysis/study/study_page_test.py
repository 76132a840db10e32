"""Checks the interactive report in a real browser.

Usage: study_page_test.py WRITE_PAGES; exits with 77 (skipped) without a browser and its driver.

WRITE_PAGES is the program that writes the pages and the C++ statistics of their study. A small
server gives the pages and answers what-if questions with made-up values.
"""

import http.server
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print('skipped: python3-selenium is not installed')
    sys.exit(77)

BROWSER = shutil.which('chromium') or shutil.which('chromium-browser')
DRIVER = shutil.which('chromedriver')
if not BROWSER or not DRIVER:
    print('skipped: chromium and chromium-driver are not installed')
    sys.exit(77)

FIGURES = ['time', 'break-even', 'step', 'bytes', 'seconds']
WAIT_SECONDS = 10


def answer_to(question):
    """Answers that dense takes 10 s, topk 1 Gbit/s / bandwidth of that, and that randomk never
    reaches the target. The topology lab.yaml has delays of its own. A question of a group alone is
    about the study's own network."""
    def seed(number, reached, end):
        return {'seed': number, 'time_to_target': reached, 'simulated_seconds': end,
                'step_seconds': end / 100,
                'parts': {'compute': 0.01, 'encode': 0, 'communication': 0.02, 'decode': 0,
                          'wait': 0},
                'curve': [[end / 4 * i, 0.2 * i] for i in range(1, 5)]}
    topk = 10 * 1e9 / question.get('bandwidth', (2e9, 5e8)[question['group']])
    unread = {'delay': 'the file has its own'} if question.get('topology') == 'lab.yaml' else {}
    return {'seconds': 0.25, 'unread': unread, 'policies': [
        {'policy': 'dense', 'seeds': [seed(s, 10, 20) for s in (1, 2, 3)]},
        {'policy': 'topk', 'seeds': [seed(s, topk * (1 + 0.1 * (s - 2)), 2 * topk)
                                     for s in (1, 2, 3)]},
        {'policy': 'randomk', 'seeds': [seed(s, None, 30) for s in (1, 2, 3)]}]}


class Handler(http.server.SimpleHTTPRequestHandler):
    questions = []

    def log_message(self, *_):
        pass

    def reply(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path != '/api/groups':
            super().do_GET()
            return
        defaults = {'bandwidth': '2Gbps', 'delay': '10us', 'topology': 'fat-tree', 'slowdown': 1.5,
                    'slow_workers': 2,
                    'device_speed': 1, 'codec_speed': 1, 'fidelity': 'flow'}
        group = {'kind': 'workers', 'unread': {}}
        self.reply(200, {'groups': [{'id': 0, 'label': '8 workers', 'workers': 8,
                                     'defaults': defaults, **group},
                                    {'id': 1, 'label': '16 workers', 'workers': 16,
                                     'defaults': {**defaults, 'bandwidth': '500Mbps',
                                                  'slow_workers': 0, 'slowdown': 1}, **group}],
                         'refused': [{'label': '8 workers, sync <b>', 'policies': ['dense'],
                                      'reason': 'it drops workers', 'plan': '',
                                      'command': 'legacy-scenario --workers=8'}],
                         'policies': ['dense', 'topk', 'randomk'], 'seeds': [1, 2, 3]})

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        self.questions.append(question)
        if question.get('topology') == 'moebius':
            self.reply(400, {'error': "topology: got 'moebius'; allowed: ring"})
        else:
            self.reply(200, answer_to(question))


def open_browser():
    options = Options()
    options.binary_location = BROWSER
    for argument in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
                     '--hide-scrollbars'):
        options.add_argument(argument)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


class StudyPageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        subprocess.run([sys.argv[1], cls.folder.name], check=True)
        cls.expected = json.loads(pathlib.Path(cls.folder.name, 'expected.json').read_text())
        handler = type('PageHandler', (Handler,), {})
        cls.server = http.server.ThreadingHTTPServer(
            ('127.0.0.1', 0), lambda *arguments: handler(*arguments, directory=cls.folder.name))
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.shutdown)
        cls.browser = open_browser()
        cls.addClassCleanup(cls.browser.quit)

    def open(self, page, width=1600, height=900):
        Handler.questions.clear()
        self.browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False})
        self.browser.get(f'http://127.0.0.1:{self.server.server_address[1]}/{page}')
        if page != 'live.html':
            return
        self.wait_for(lambda: self.find('#what-if .status').text.startswith('Answered'))

    def tearDown(self):
        errors = [entry['message'] for entry in self.browser.get_log('browser')
                  if entry['level'] in ('SEVERE', 'WARNING')]
        allowed = [message for message in errors if '/api/what-if' in message and '400' in message]
        self.assertEqual(errors, allowed)

    def wait_for(self, condition):
        end = time.monotonic() + WAIT_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end, 'waited too long')
            time.sleep(0.02)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def run_script(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def choose(self, selector, text):
        self.run_script('''const select = document.querySelector(arguments[0]);
            select.value = [...select.options].find((option) => option.text === arguments[1]).value;
            select.dispatchEvent(new Event('change'));''', selector, text)

    def table(self, figure):
        """Returns rows of raw values by column, and their texts under 'text of ...'."""
        return self.run_script('''
            const section = document.getElementById(arguments[0]);
            for (const details of section.querySelectorAll('details')) details.open = true;
            return new Promise((done) => setTimeout(() => {
                const head = [...section.querySelectorAll('thead th')].map(
                    (cell) => cell.textContent);
                done([...section.querySelectorAll('tbody tr')].map(
                    (row) => Object.fromEntries([...row.cells].flatMap(
                        (cell, i) => [[head[i], cell.dataset.value],
                                      ['text of ' + head[i], cell.innerText]]))));
            }, 0));''', figure)

    def axis(self, figure, axis='x'):
        return self.run_script('''
            const scale = Chart.getChart(arguments[0] + '-canvas').scales[arguments[1]];
            return [scale.min, scale.max];''', figure, axis)

    def assert_same(self, text, number, tolerance=1e-7):
        if number is None:
            self.assertEqual(text, '')
        else:
            self.assertTrue(math.isclose(float(text), number, rel_tol=tolerance),
                            f'{text} is not {number}')

    def assert_times(self, expected, workers):
        rows = self.table('time')
        wanted = [row for row in expected['outcomes'] if row['workers'] == workers]
        self.assertEqual(len(rows), len(wanted))
        for want in wanted:
            row, = [row for row in rows if row['Method'] == want['policy']
                    and float(row['Bandwidth']) == want['bandwidth']]
            for column, key in (('Time to target', 'mean'), ('Deviation', 'deviation'),
                                ('Reached', 'reached'),
                                ('Seeds', 'done'), ('Speed-up', 'speedup'), ('From', 'low'),
                                ('To', 'high')):
                self.assert_same(row[column], want[key])
            self.assertEqual(row['Bound'], want['bound'])

    def assert_crossings(self, expected):
        rows = {(row['Network'], row['Method']): row for row in self.table('break-even')}
        self.assertEqual(len(rows), len(expected['crossings']))
        for want in expected['crossings']:
            row = rows[want['facet'], want['policy']]
            for column, key in (('Break-even', 'x'), ('From', 'low'), ('To', 'high'),
                                ('Textbook', 'textbook')):
                self.assert_same(row[column], want[key])

    def assert_curves(self, expected, metric='Test accuracy'):
        for figure, column, position in (('seconds', 'Simulated time', 1),
                                         ('bytes', 'Bytes sent by a worker', 2)):
            rows = [row for row in self.table(figure) if row['Method'] == 'topk']
            self.assertEqual([int(row['Step']) for row in rows],
                             [want[0] for want in expected['curve']])
            for row, want in zip(rows, expected['curve']):
                self.assert_same(row[column], want[position], 2e-5)
                self.assert_same(row[metric], want[3], 5e-5)  # curves have five digits

    def test_paints_every_figure(self):
        self.open('study.html')
        for figure in FIGURES:
            colours = self.run_script('''
                const canvas = document.getElementById(arguments[0] + '-canvas');
                const context = canvas.getContext('2d');
                const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
                return new Set(new Uint32Array(data.buffer)).size;''', figure)
            self.assertGreater(colours, 20, figure)
            self.assertTrue(self.find(f'#{figure}-canvas').get_attribute('aria-label'))

    def test_says_what_the_cpp_statistics_say(self):
        self.open('study.html')
        for workers in ('8', '16'):
            self.choose('#at-1', workers)
            self.assert_times(self.expected['all'], workers)
        self.assert_crossings(self.expected['all'])
        self.choose('#at-1', '8')
        self.assert_curves(self.expected['all'])
        crossed = [row for row in self.expected['all']['crossings'] if row['x'] is not None]
        self.assertGreater(len(crossed), 1)  # otherwise the loop compares nothing
        bounds = {row['bound'] for row in self.expected['all']['outcomes']}
        self.assertEqual(bounds, {'', 'at least', 'at most'})

    def test_filters_recompute_the_numbers(self):
        self.open('study.html')
        self.find('#seed-1').click()
        self.assert_times(self.expected['without_2'], '8')
        self.assert_crossings(self.expected['without_2'])
        self.assert_curves(self.expected['without_2'])
        self.find('#policy-2').click()
        self.assertEqual({row['Method'] for row in self.table('time')},
                         {'dense', 'fp16', 'randomk'})
        self.assertEqual([row['Method'] for row in self.table('step')],
                         ['dense', 'fp16', 'randomk'])
        names = self.run_script(
            "return Chart.getChart('seconds-canvas').data.datasets.map((one) => one.label)")
        self.assertEqual(names, ['dense', 'fp16', 'randomk'])
        self.find('#policy-0').click()  # the baseline is hidden, but still compared with
        fp16 = [row for row in self.expected['without_2']['outcomes'] if row['policy'] == 'fp16'
                and row['workers'] == '8']
        for row, want in zip([row for row in self.table('time') if row['Method'] == 'fp16'], fp16):
            self.assert_same(row['Speed-up'], want['speedup'])

    def test_draws_the_map_over_any_two_axes(self):
        self.open('study.html')
        self.assertEqual(self.run_script(  # the policy of which the place decides most
            "return document.querySelector('#map-policy').selectedOptions[0].text"), 'topk')
        self.choose('#map-policy', 'topk')
        self.choose('#map-rows', 'bandwidth')  # the other select takes this one's old value
        want = {(row['bandwidth'], row['workers']): row for row in self.expected['all']['outcomes']
                if row['policy'] == 'topk'}
        rows = self.table('map')
        self.assertEqual(len(rows), 5)
        signs = ''
        for row, bandwidth in zip(rows, (1e8, 1e9, 2e9, 1e10, 1e11)):
            for workers in ('8', '16'):
                self.assert_same(row[workers], want[bandwidth, workers]['speedup'])
                signs += row[f'text of {workers}'][0]
        self.assertIn('≤', signs)
        self.assertIn('≥', signs)
        self.assertIn('–', signs)  # bounds of both kinds
        colour = self.run_script(
            "return getComputedStyle(document.querySelector('#map td[style]')).backgroundColor")
        red, _, blue = [int(part) for part in colour[4:-1].split(',')]
        self.assertGreater(blue, red)  # ahead at the lowest bandwidth
        grey = self.run_script("""return [...document.querySelectorAll('#map td')].map((cell) => [
            cell.innerText[0], cell.hasAttribute('style'),
            getComputedStyle(cell).backgroundImage.startsWith('repeating-linear')])""")
        for sign, coloured, hatched in grey:  # what is no result has no colour of one
            self.assertEqual((hatched, coloured), (sign in '≤≥–', sign not in '≤≥–'), sign)

    def test_draws_along_the_other_axis(self):
        self.open('study.html')
        self.choose('#along', 'workers')
        self.choose('#at-0', '100 Mbit/s')
        rows = [row for row in self.table('time') if row['Method'] == 'dense']
        want = [row for row in self.expected['all']['outcomes'] if row['policy'] == 'dense'
                and row['bandwidth'] == 1e8]
        self.assertEqual([row['Workers'] for row in rows], ['8', '16'])
        for row, one in zip(rows, want):
            self.assert_same(row['Time to target'], one['mean'])

    def test_zooms_by_keys_wheel_drag_and_buttons(self):
        self.open('study.html')
        canvas = self.find('#time-canvas')
        low, high = self.axis('time')
        canvas.send_keys('+')
        near_low, near_high = self.axis('time')
        self.assertTrue(low < near_low < near_high < high)
        canvas.send_keys(Keys.ARROW_RIGHT)
        self.assertGreater(self.axis('time')[0], near_low)
        canvas.send_keys(Keys.ARROW_LEFT, '-')
        for one, other in zip(self.axis('time'), (low, high)):
            self.assertAlmostEqual(one / other, 1, places=6)
        canvas.send_keys('+' * 15)
        ticks = self.run_script(
            "return Chart.getChart('time-canvas').scales.x.ticks.map((tick) => tick.label)")
        self.assertGreater(len(set(ticks)), 2)  # also when zoomed in
        canvas.send_keys(Keys.ARROW_UP, '0')
        self.assertEqual(self.axis('time'), [low, high])
        origin = webdriver.common.actions.wheel_input.ScrollOrigin.from_element(canvas)
        ActionChains(self.browser).scroll_from_origin(origin, 0, -100).perform()
        self.assertGreater(self.axis('time')[0], low)
        self.find('#time .tools button:nth-child(3)').click()
        self.assertEqual(self.axis('time'), [low, high])
        actions = ActionChains(self.browser).move_to_element(canvas).click_and_hold()
        actions.move_by_offset(150, 80).release().perform()
        middle = math.sqrt(low * high)
        self.assertTrue(0.5 * middle < self.axis('time')[0] < 2 * middle)
        self.find('#policy-1').click()  # a filter keeps the zoom
        self.assertGreater(self.axis('time')[0], 0.5 * middle)

    def test_gives_what_is_shown_as_csv(self):
        self.open('study.html')
        text = self.run_script('''
            const made = [];
            URL.createObjectURL = (blob) => (made.push(blob), 'data:,');
            HTMLAnchorElement.prototype.click = function() { made.push(this.download); };
            document.querySelector('#step .csv').click();
            return made[0].text().then((text) => [made[1], text]);''')
        self.assertEqual(text[0], 'made-up-step.csv')
        lines = text[1].splitlines()
        self.assertTrue(lines[0].startswith('policy,compute (s),encode (s)'))
        want, = [row for row in self.expected['all']['outcomes']
                 if row['policy'] == 'dense' and row['workers'] == '8' and row['bandwidth'] == 2e9]
        self.assert_same(lines[1].split(',')[6], want['step'])

    def test_what_if_draws_the_answer(self):
        self.open('live.html')
        self.assertEqual(Handler.questions[0], {'group': 0})
        self.assertEqual(Handler.questions[1], {
            'group': 0, 'topology': 'fat-tree', 'fidelity': 'flow', 'bandwidth': 2e9, 'delay': 1e-5,
            'slowdown': 1.5,
            'slow_workers': 2, 'device_speed': 1, 'codec_speed': 1})
        self.assertIn('250 ms', self.find('#what-if .status').text)
        asked = len(Handler.questions)
        field = self.find('#what-if-bandwidth-number')
        field.clear()
        field.send_keys('4000')
        self.wait_for(lambda: len(Handler.questions) > asked
                      and Handler.questions[-1].get('bandwidth') == 4e9)
        self.assertLessEqual(len(Handler.questions), asked + 2)  # fewer questions than keys
        curve = '''
            const {datasets} = Chart.getChart('what-if-canvas').data;
            return datasets.find((one) => one.label === 'topk').data.map(({x, y}) => [x, y]);'''
        self.wait_for(lambda: self.run_script(curve)[3][0] < 5.1)
        for got, want in zip(self.run_script(curve),
                             [[1.25, 0.2], [2.5, 0.4], [3.75, 0.6], [5, 0.8]]):
            self.assertAlmostEqual(got[0], want[0])
            self.assertAlmostEqual(got[1], want[1])
        rows = {row['Method']: row for row in self.table('what-if')}
        self.assert_same(rows['topk']['Time to target'], 2.5)
        self.assertIn('study 5', rows['topk']['text of Time to target'])
        ratios = [math.log(4 / (1 + part)) for part in (-0.1, 0, 0.1)]
        self.assert_same(rows['topk']['Speed-up over dense'], math.exp(sum(ratios) / 3))
        self.assertIn('reached 0 of 3', rows['randomk']['text of Time to target'])
        self.assertIn('≤', rows['randomk']['text of Speed-up over dense'])
        self.assertEqual([row['Method'] for row in self.table('what-if')],
                         ['topk', 'dense', 'randomk'])  # by time; who did not reach it is last
        bars = self.run_script("""
            return [...document.querySelectorAll('#what-if tbody td:nth-child(2)')].map((cell) => [
                parseFloat(cell.style.getPropertyValue('--bar')),
                cell.classList.contains('bound')])""")
        self.assertEqual(bars, [[25, False], [100, False], [100, True]])
        slider = self.find('#what-if-bandwidth')
        self.assertEqual(slider.get_attribute('aria-valuetext'), '4 Gbit/s')
        slider.send_keys(Keys.ARROW_RIGHT)
        self.wait_for(lambda: Handler.questions[-1].get('bandwidth', 0) > 4e9)
        self.choose('#what-if-group', '16 workers')
        self.wait_for(lambda: (Handler.questions[-1]['group'],
                               Handler.questions[-1].get('bandwidth')) == (1, 5e8))

    def test_what_has_no_effect_is_switched_off(self):
        self.open('live.html')
        enabled = lambda key: all(self.find(f'#what-if-{key}{part}').is_enabled()
                                  for part in ('', '-number'))
        self.assertTrue(enabled('slowdown'))  # two workers are slow
        self.assertFalse(enabled('codec_speed'))  # no policy of the answer encodes
        self.assertEqual(self.find('#what-if-slow_workers').get_attribute('max'), '8')
        self.choose('#what-if-group', '16 workers')
        self.assertFalse(enabled('slowdown'))
        self.assertEqual(self.find('#what-if-slow_workers').get_attribute('max'), '16')
        self.find('#what-if-slow_workers').send_keys(Keys.ARROW_RIGHT)
        self.wait_for(lambda: (Handler.questions[-1].get('slow_workers'),
                               Handler.questions[-1].get('slowdown')) == (1, 2))
        self.assertTrue(enabled('slowdown'))
        self.assertTrue(enabled('delay'))
        self.run_script('''const field = document.getElementById('what-if-topology');
            field.value = 'lab.yaml';
            field.dispatchEvent(new Event('input'));''')
        self.wait_for(lambda: not enabled('delay'))
        self.assertIn('(the file has its own)', self.find('#what-if').text)
        self.assertTrue(enabled('bandwidth'))

    def test_suggests_topologies(self):
        self.open('live.html')
        offered = self.run_script("""
            const field = document.querySelector('#what-if-topology');
            return [...field.list.options].map((one) => one.value);""")
        self.assertIn('leaf-spine:oversubscription=4', offered)
        self.assertEqual(len(offered), len(set(offered)))

    def test_lists_what_nobody_can_ask_about(self):
        self.open('live.html')
        self.find('#what-if .refused summary').click()
        self.assertIn('8 workers, sync <b> (dense): it drops workers.',
                      self.find('#what-if .refused li').text)
        self.assertEqual(self.find('#what-if .refused code').text, 'legacy-scenario --workers=8')

    def test_the_chart_stands_beside_the_sliders(self):
        self.open('live.html', 1280, 800)
        self.run_script("document.getElementById('what-if').scrollIntoView()")
        form, canvas = [self.run_script("""
            const part = document.querySelector(arguments[0]);
            const {left, right, top, bottom} = part.getBoundingClientRect();
            return {left, right, top, bottom};""", f'#what-if {part}')
                        for part in ('fieldset', 'canvas')]
        self.assertGreaterEqual(canvas['left'], form['right'])
        for part in (form, canvas):  # both are in view
            self.assertTrue(part['top'] >= 0 and part['bottom'] <= 800, part)
        self.open('live.html', 390)
        slider, field = [self.find(f'#what-if-bandwidth{part}').rect for part in ('', '-number')]
        self.assertGreaterEqual(field['x'], slider['x'] + slider['width'])
        self.assertLess(abs(field['y'] + field['height'] / 2 - slider['y'] - slider['height'] / 2),
                        8)

    def test_wide_tables_say_that_they_scroll(self):
        for width, wide in ((390, True), (1600, False)):
            self.open('live.html', width)
            self.wait_for(lambda: ('wide' in self.find('#what-if .scroll').get_attribute('class'))
                          == wide)

    def test_the_address_keeps_the_sliders(self):
        self.open('live.html')
        self.assertNotIn('#', self.browser.current_url)
        field = self.find('#what-if-bandwidth-number')
        field.clear()
        field.send_keys('4000')
        self.wait_for(lambda: 'bandwidth=4000000000' in self.browser.current_url)
        address = self.browser.current_url
        self.browser.get('about:blank')
        Handler.questions.clear()
        self.browser.get(address)
        self.wait_for(lambda: self.find('#what-if .status').text.startswith('Answered'))
        self.assertEqual(Handler.questions[-1]['bandwidth'], 4e9)
        self.assertEqual(Handler.questions[-1]['slow_workers'], 2)
        self.browser.get(address.split('#')[0] + '#group=9&bandwidth=fast')  # of another study
        self.browser.refresh()
        self.wait_for(lambda: self.find('#what-if .status').text.startswith('Answered'))
        self.assertEqual(Handler.questions[-1]['bandwidth'], 2e9)

    def test_begins_with_conclusions_and_what_if(self):
        self.open('live.html')
        sections = self.run_script(
            "return [...document.querySelectorAll('main > section')].map((one) => one.id)")
        self.assertEqual(sections[:3], ['conclusions', 'what-if', 'time'])
        text = self.find('#conclusions').text
        self.assertIn('At 2 Gbit/s, 8 workers, 3 seeds cannot tell which method is the fastest: '
                      'topk (', text)
        self.assertIn('randomk does not reach the target there', text)
        self.assertIn('the first is fp16 at 100 Mbit/s, none that can be told from 1 Gbit/s to '
                      '2 Gbit/s, topk at 10 Gbit/s, dense at 100 Gbit/s.', text)
        want, = [row['x'] for row in self.expected['all']['crossings']
                 if row['facet'] == '8 workers' and row['policy'] == 'topk']
        self.assertIn(f'topk at {want / 1e9:.3g} Gbit/s', text)
        self.find('#policy-2').click()  # hidden policies are not compared
        self.assertNotIn('topk', self.find('#conclusions').text)
        self.open('missed.html')
        conclusion = self.find('#conclusions li').text
        self.assertTrue(conclusion.startswith('No training reached the target accuracy of 80 %.'))

    def test_concludes_what_the_cpp_statistics_can_tell(self):
        self.open('study.html')
        found = set()
        for want in self.expected['all']['firsts']:
            self.choose('#at-0', want['bandwidth'])
            self.choose('#at-1', want['workers'])
            text = self.find('#conclusions li').text
            found.add(bool(want['ties']))
            if not want['ties']:
                self.assertIn(f', {want["first"]} reaches 80 % first, in ', text)
                continue
            names = text.partition(', 3 seeds cannot tell which method is the fastest: ')[2]
            self.assertTrue(names.startswith(f'{want["first"]} ('), text)
            self.assertEqual([name in names for name in ('dense (', 'fp16 (', 'topk (')],
                             [name in (want['first'], *want['ties'])
                              for name in ('dense', 'fp16', 'topk')], text)
            self.assertRegex(names, r' \([\d.]+ \[[\d.]+, [\d.]+\] times as long\)')
            self.assertTrue(text.endswith('More seeds, or more frequent evaluations, may tell.'))
        self.assertEqual(found, {True, False})
        self.choose('#at-0', '100 Mbit/s')
        self.assertRegex(self.find('#conclusions li').text,
                         r'topk reaches 80 % first, in .* as fast as dense .* Why: a step of topk '
                         r'takes [\d.]+ ms and one of dense [\d.]+ ms, of which communication is '
                         r'[\d.]+ ms and [\d.]+ ms. On links [\d.]+ times as fast dense would be '
                         r'level')
        self.choose('#at-0', '100 Gbit/s')
        self.choose('#at-1', '8')
        self.assertRegex(self.find('#conclusions li').text,
                         r'dense reaches 80 % first, in .* as fast as the next, topk, .* encoding '
                         r'and decoding are 0 s and 3 ms: more than the')

    def test_shows_a_metric_that_is_no_fraction(self):
        self.open('perplexity.html')
        self.wait_for(lambda: self.find('#what-if .status').text.startswith('Answered'))
        self.choose('#at-0', '2 Gbit/s')
        self.choose('#at-1', '8')
        self.assertIn('target perplexity 7.39', self.find('#facts').text)
        self.assertNotIn('ccuracy', self.find('body').text)
        text = self.find('#conclusions').text
        self.assertIn('At 2 Gbit/s, 8 workers, 3 seeds cannot tell which method is', text)
        self.assertIn('dense ends with the lowest perplexity, ', text)
        self.assert_curves(self.expected['perplexity'], 'Test perplexity')
        self.assert_crossings(self.expected['perplexity'])
        scale = self.run_script("""
            const {options: {target}, scales: {y}} = Chart.getChart('seconds-canvas');
            return [y.type, y.options.title.text, y.min, y.max, target.value];""")
        self.assertEqual(scale[:2], ['logarithmic', 'Test perplexity'])
        self.assertTrue(0 < scale[2] < scale[4] == 7.39 < scale[3])
        answer = self.run_script(
            "return Chart.getChart('what-if-canvas').options.scales.y.title.text")
        self.assertEqual(answer, 'Test perplexity')

    def test_ticks_have_room(self):
        for width in (390, 1280):
            self.open('study.html', width)
            for axis, room in (('x', 40), ('y', 14)):
                ticks = self.run_script('''
                    const scale = Chart.getChart('time-canvas').scales[arguments[0]];
                    return scale.ticks.map(
                        (tick) => [scale.getPixelForValue(tick.value), tick.label]);''', axis)
                places = sorted(place for place, label in ticks if label)
                self.assertGreater(len(places), 1)
                for one, other in zip(places, places[1:]):
                    self.assertGreater(other - one, room, f'{axis} at {width}: {ticks}')
            self.assertEqual(
                self.run_script("return Chart.getChart('time-canvas').scales.x.labelRotation"), 0)

    def test_marks_are_equal_in_list_and_legend(self):
        self.open('study.html')
        self.assertEqual(self.run_script('''
            const chart = Chart.getChart('time-canvas');
            return [...document.querySelectorAll('.swatch')].filter((swatch) => {
                const name = swatch.parentElement.textContent;
                const item = chart.legend.legendItems.find(({text}) => text === name);
                const drawn = document.createElement('canvas');
                drawn.width = drawn.height = 16;
                const context = drawn.getContext('2d');
                Object.assign(context, {strokeStyle: item.strokeStyle, fillStyle: item.fillStyle});
                Chart.helpers.drawPoint(context, {
                    pointStyle: item.pointStyle, rotation: item.rotation,
                    radius: 7 * Math.SQRT1_2, borderWidth: item.lineWidth}, 8, 8);
                return drawn.toDataURL() !== swatch.toDataURL();
            }).map((swatch) => swatch.parentElement.textContent);'''), [])

    def test_what_if_says_what_is_wrong(self):
        self.open('live.html')
        field = self.find('#what-if-topology')
        field.clear()
        field.send_keys('moebius')
        alert = self.find('#what-if [role=alert]')
        self.wait_for(lambda: "got 'moebius'; allowed: ring" in alert.text)
        field.clear()
        field.send_keys('ring')
        self.wait_for(lambda: alert.text == ''
                      and self.find('#what-if .status').text.startswith('Answered'))

    def test_what_if_of_a_file_says_how_to_serve_it(self):
        self.open('study.html')
        self.assertIn('legacy-study serve', self.find('#what-if .status').text)
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, '#what-if input'), [])
        self.assertEqual(Handler.questions, [])

    def test_a_run_has_its_page_without_a_server(self):
        folder = pathlib.Path(self.folder.name, 'run')
        for width in (390, 1280):
            self.open('study.html', width)
            self.browser.get(f'{folder.as_uri()}/index.html')
            self.assertEqual(self.find('#conclusions p').text, 'topk is first.')
            self.assertLessEqual(self.run_script('return document.documentElement.scrollWidth'),
                                 width)
            self.wait_for(lambda: self.run_script(
                "return document.querySelector('#pictures img').naturalWidth") == 960)
        self.assertIn('4 of 4 timed trainings done', self.find('#facts').text)
        names = self.run_script(
            "return Chart.getChart('seconds-canvas').data.datasets.map((one) => one.label)")
        self.assertEqual(names, ['dense', 'topk'])
        rows = [row for row in self.table('seconds') if row['Method'] == 'topk']
        self.assertEqual([row['Simulated time'] for row in rows], ['1', '2', '3', '4', '5'])
        self.assertIn('speed-up over dense', self.find('#tables').text)
        links = self.browser.find_elements(By.CSS_SELECTOR, 'main a')
        self.assertEqual(len(links), 3)
        for link in links:
            self.assertTrue((folder / link.get_dom_attribute('href')).exists())
        self.assertEqual(self.browser.find_elements(By.ID, 'what-if'), [])
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, 'nav select'), [])
        self.find('#policy-0').click()
        self.assertEqual(self.run_script(
            "return Chart.getChart('seconds-canvas').data.datasets.length"), 1)

    def test_a_run_begins_with_the_curves_of_its_pictures(self):
        def labels(figure):
            return self.run_script(f"""const chart = Chart.getChart('{figure}-canvas').data;
                return arguments[0] ? chart.labels : chart.datasets.map((one) => one.label);""",
                                   figure == 'step')

        self.open('many/index.html')
        drawn = ['dense', 'topk', 'topk-global', 'randomk', 'qsgd', 'powersgd']
        for figure in ('seconds', 'bytes'):
            self.assertEqual(labels(figure), drawn)
            self.assertIn('Not drawn: dgc, redsync, sidco; tick them under',
                          self.find(f'#{figure}-summary').text)
        self.assertEqual(len(labels('step')), 9)  # bars have room for all
        self.assertEqual([self.find(f'#policy-{i}').is_selected() for i in (4, 5)], [False, True])
        self.find('#policy-4').click()
        self.assertEqual(len(labels('seconds')), 7)
        self.assertIn('Not drawn: redsync, sidco;', self.find('#seconds-summary').text)

    def test_fits_narrow_and_wide_windows(self):
        for page in ('study.html', 'live.html', 'hostile.html'):
            for width in (390, 1280, 1600):
                self.open(page, width)
                for figure in FIGURES:
                    self.table(figure)  # open tables may not widen the page either
                self.assertLessEqual(self.run_script('return document.documentElement.scrollWidth'),
                                     width, page)

    def test_can_be_used_with_a_screen_reader_and_keys(self):
        self.open('live.html')
        nameless = self.run_script('''
            const named = 'input, select, button, canvas, [role=region]';
            return [...document.querySelectorAll(named)].filter((one) =>
                !one.getAttribute('aria-hidden') && !one.getAttribute('aria-label') &&
                !(one.labels?.length) && !one.textContent.trim()).map((one) => one.outerHTML);''')
        self.assertEqual(nameless, [])
        for button in self.browser.find_elements(By.CSS_SELECTOR, '.tools button'):
            self.assertIn(button.get_attribute('title'), ('Zoom in', 'Zoom out', 'Whole range'))
            self.assertTrue(
                button.get_attribute('aria-label').startswith(button.get_attribute('title') + ': '))
        for landmark in ('header', 'main', 'footer', 'nav[aria-label]', 'h1',
                         '#what-if [role=status]'):
            self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, landmark)), 1,
                             landmark)
        ids = self.run_script('return [...document.querySelectorAll("[id]")].map((one) => one.id)')
        self.assertEqual(len(ids), len(set(ids)))
        for table in self.browser.find_elements(By.TAG_NAME, 'table'):
            self.assertTrue(table.find_elements(By.TAG_NAME, 'caption'))
        self.run_script("document.querySelector('#time-canvas').focus()")
        reached = set()
        for _ in range(12):
            reached.add(self.run_script('return document.activeElement.tagName'))
            ActionChains(self.browser).send_keys(Keys.TAB).perform()
        self.assertLessEqual({'CANVAS', 'BUTTON', 'SUMMARY', 'SELECT'}, reached)

    def test_can_be_read_in_the_light_and_in_the_dark(self):
        """Every text has the contrast that WCAG 2.1 asks for (1.4.3), 4.5 to 1."""
        contrasts = """
            const parts = (text) => text.match(/[\d.]+/g).map(Number);
            const light = (colour) => {
                const [r, g, b] = parts(colour).slice(0, 3).map((one) => one / 255).map((one) =>
                    one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const ground = (one) => {
                for (; one; one = one.parentElement) {
                    const colour = getComputedStyle(one).backgroundColor;
                    if ((parts(colour)[3] ?? 1) > 0) return colour;
                }
                return 'rgb(255, 255, 255)';
            };
            const poor = [];
            for (const one of document.querySelectorAll('body *')) {
                const own = [...one.childNodes].some((node) =>
                    node.nodeType === Node.TEXT_NODE && node.textContent.trim());
                if (!own || !one.checkVisibility()) continue;
                if (one.matches(':disabled, .off, .off *')) continue;
                const [a, b] = [light(getComputedStyle(one).color), light(ground(one))];
                const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                if (contrast < 4.5) poor.push(contrast + ': ' + one.outerHTML.slice(0, 90));
            }
            return [light(ground(document.body)), poor];"""
        grounds = []
        for scheme in ('light', 'dark'):
            self.browser.execute_cdp_cmd('Emulation.setEmulatedMedia', {
                'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})
            self.open('live.html')
            ground, poor = self.run_script(contrasts)
            self.assertEqual(poor, [], scheme)
            grounds.append(ground)
        self.browser.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': []})
        self.assertGreater(grounds[0], 0.9)
        self.assertLess(grounds[1], 0.1)

    def test_texts_cannot_break_out(self):
        self.open('hostile.html')
        self.table('time')
        self.assertIn('<img src=x', self.find('h1').text)
        self.assertEqual(self.browser.find_elements(By.TAG_NAME, 'img'), [])
        self.assertIn('A made-up study', self.browser.title)
        self.assertIn('<img src=x', self.find('#failed tbody tr td:last-child').text)

    def test_draws_over_names_and_without_a_baseline(self):
        self.open('names.html')
        self.assertEqual([row['Topology'] for row in self.table('time')][:3],
                         ['ring', 'fat-tree', 'torus'])
        ticks = self.run_script(
            "return Chart.getChart('time-canvas').scales.x.ticks.map((tick) => tick.label)"
            ".filter(Boolean)")
        self.assertEqual(ticks, ['ring', 'fat-tree', 'torus'])
        self.assertEqual(self.browser.find_elements(By.ID, 'break-even'), [])

    def test_draws_one_policy_on_one_network(self):
        self.open('point.html')
        row, = self.table('time')
        self.assertEqual((row['Method'], row['Seeds']), ('dense', '3'))
        self.assertEqual(len(self.table('step')), 1)

    def test_shows_a_study_that_has_not_begun(self):
        self.open('empty.html')
        self.assertIn('0 of 120 points done · 120 pending · no target accuracy',
                      self.find('#facts').text)
        frames = self.browser.find_elements(By.CSS_SELECTOR, '.frame, .tools')
        self.assertFalse(any(frame.is_displayed() for frame in frames))  # there is nothing to draw


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
