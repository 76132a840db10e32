"""Checks served studies in a real browser.

Usage: served_study_test.py LEGACY_STUDY LEGACY_REPLAY LEGACY_FEDERATED; exits with 77 (skipped)
without a browser and its driver.

The what-if panel's sliders must change its curves to those of legacy-replay, or of legacy-federated
replay, on the same network.
"""

import csv
import json
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / 'analysis/study'))
import study_page_test  # skips without a browser
from selenium.webdriver.common.keys import Keys

ROOT = pathlib.Path(__file__).parents[3]
WORKERS = '''
study: {name: served}
scenario:
  training: {model: lenet5, workers: 4, batch: 2, steps: 8, warmup_steps: 1, evaluate_every: 2,
             train_limit: 32, test_limit: 64, target: 99%}
  compression: {policies: [dense, topk]}
  network: {topology: star, stragglers: none, fidelity: flow}
grid:
  bandwidth: [100Mbps, 1Gbps]
  topo: [star, OWN_RATES]
'''
OWN_RATES = '''
type: links
hosts: [a, b, c, d]
switches: [s]
links: [{a: a, b: s, rate: 1Gbps}, {a: b, b: s, rate: 1Gbps}, {a: c, b: s, rate: 1Gbps},
        {a: d, b: s, rate: 2Gbps}]
'''
# Houses have no places and no prices. Who counts `ahead` depends on the lines.
CLIENTS = '''
study: {name: served-clients}
scenario:
  training: {model: logistic, evaluate_every: 1, train_limit: 600, target: 12%}
  federated: {per_round: 4, rounds: 4}
  compression: {policies: [dense, topk]}
grid:
  where:
    cases:
      hospitals: {population: "ROOT/scenarios/federated/hospitals.population.yaml",
                  topo: "regions:ROOT/topologies/hospitals.yaml"}
      houses: {clients: 12}
      ahead: {clients: 12, over-select: 1.5}
'''
CURVE = '''const {datasets} = Chart.getChart('what-if-canvas').data;
    return datasets.find((one) => one.label === arguments[0])?.data.map(({x, y}) => [x, y]);'''


class ServedStudy(unittest.TestCase):
    """A study of a definition, trained, served, and open in the browser."""

    wait_for = study_page_test.StudyPageTest.wait_for
    find = study_page_test.StudyPageTest.find
    definition = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.own_rates = cls.folder / 'own_rates.yaml'
        cls.own_rates.write_text(OWN_RATES)
        (cls.folder / 'served.yaml').write_text(
            cls.definition.replace('OWN_RATES', str(cls.own_rates)).replace('ROOT', str(ROOT)))
        cls.study = cls.folder / 'study'
        subprocess.run([sys.argv[1], 'run', cls.folder / 'served.yaml', f'--out={cls.study}',
                        '--jobs=2'], check=True, capture_output=True)
        cls.server = subprocess.Popen([sys.argv[1], 'serve', cls.study, '--port=0'],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        cls.addClassCleanup(cls.server.kill)
        cls.browser = study_page_test.open_browser()
        cls.addClassCleanup(cls.browser.quit)

    def open(self):
        said = ''
        for line in self.server.stdout:
            said += line
            if found := re.search(r'http://\S+', line):
                self.browser.get(found[0])
                status = self.find('#what-if .status')
                self.wait_for(lambda: status.text.startswith('Answered'))
                return said
        self.fail(said)

    def curve(self, policy):
        return self.browser.execute_script(CURVE, policy)

    def set(self, control, value):
        self.browser.execute_script('''const control = document.getElementById(arguments[0]);
            control.value = arguments[1];
            control.dispatchEvent(new Event(control.tagName === 'SELECT' ? 'change' : 'input'));''',
                                    f'what-if-{control}', str(value))

    def training_of(self, policy, **federated):
        """Returns the folder of a training, by its policy and options of federated learning."""
        for path in self.study.glob('trainings/*/manifest.json'):
            manifest = json.loads(path.read_text())
            options = manifest['configuration'].get('federated', {})
            if manifest['policies'] == [policy] and federated.items() <= options.items():
                return path.parent
        self.fail(f'no training of {policy}')

    def replayed(self, command):
        """Returns the curve that a replay leaves, [seconds, accuracy] by evaluation."""
        run = self.folder / 'replay'
        subprocess.run([*command, f'--out={run}', '--overwrite', '--pictures=off'], check=True,
                       capture_output=True)
        with open(run / 'evaluations.csv') as file:
            return [[float(row['simulated_seconds']), float(row['test_accuracy'])]
                    for row in csv.DictReader(file)]

    def assert_shows(self, policy, expected):
        def as_expected():
            shown = self.curve(policy)
            return len(shown) == len(expected) and all(
                abs(x / seconds - 1) < 1e-9 and abs(y - accuracy) < 1e-9
                for (seconds, accuracy), (x, y) in zip(expected, shown))
        self.wait_for(as_expected)  # the answer to the last of several changes comes last

    def close(self):
        errors = [entry for entry in self.browser.get_log('browser')
                  if entry['level'] in ('SEVERE', 'WARNING')]
        self.assertEqual(errors, [])
        self.server.send_signal(signal.SIGINT)
        self.assertEqual(self.server.wait(10), 0)


class WorkersTest(ServedStudy):
    definition = WORKERS

    def test_sliders_show_what_the_engine_gives(self):
        self.open()
        before = self.curve('dense')
        self.assertIsNone(self.curve('dense, study'))
        self.find('#what-if-bandwidth').send_keys(Keys.ARROW_RIGHT)
        self.wait_for(lambda: self.curve('dense') != before)
        self.assertEqual(self.curve('dense, study'), before)
        bandwidth = round(float(self.find('#what-if-bandwidth-number').get_attribute('value'))
                          * 1e6)
        self.assertGreater(bandwidth, 100_000_000)
        for policy in ('dense', 'topk'):
            self.assert_shows(policy, self.replayed(
                [sys.argv[2], self.training_of(policy), f'--bandwidth={bandwidth}bps',
                 '--topo=star', '--stragglers=none', '--fidelity=flow']))
        # A topology file that gives every link its rate leaves the slider of the rate no effect.
        slider = self.find('#what-if-bandwidth')
        self.assertTrue(slider.is_enabled())
        self.set('topology', self.own_rates)
        self.wait_for(lambda: not slider.is_enabled())
        self.assertTrue(self.find('#what-if-delay').is_enabled())
        self.close()

    def test_the_file_answers_without_a_server(self):
        subprocess.run([sys.argv[1], 'report', self.study, '--figures=off'], check=True,
                       capture_output=True)
        page = (self.study / 'report/index.html').as_uri()
        self.browser.get(page)
        status = self.find('#what-if .status')
        self.wait_for(lambda: status.text.startswith('Answered'))
        self.assertIn('closed form (analytic), no server', status.text)
        self.assertIn('run "legacy-study serve"', self.find('#what-if .refused').text)
        before = self.curve('dense')
        self.find('#what-if-bandwidth').send_keys(Keys.ARROW_RIGHT)
        self.set('delay-number', 350)
        self.set('slow_workers', 2)
        self.wait_for(lambda: self.curve('dense') != before)
        self.assertEqual(self.curve('dense, study'), before)
        bandwidth = round(float(self.find('#what-if-bandwidth-number').get_attribute('value'))
                          * 1e6)
        for policy in ('dense', 'topk'):
            self.assert_shows(policy, self.replayed(
                [sys.argv[2], self.training_of(policy), f'--bandwidth={bandwidth}bps',
                 '--delay=350us', '--topo=star', '--stragglers=fixed:count=2,factor=2',
                 '--fidelity=analytic']))
        rows = self.browser.find_elements('css selector', '#what-if tbody tr')
        self.assertEqual(len(rows), 2)
        # The address keeps the question, as with the server.
        shown = self.curve('topk')
        address = self.browser.current_url
        self.browser.get('about:blank')
        self.browser.get(address)
        self.wait_for(lambda: self.find('#what-if .status').text.startswith('Answered'))
        self.assertEqual(self.curve('topk'), shown)
        # What has no closed form is said in a sentence.
        self.set('topology', 'fat-tree')
        error = self.find('#what-if .error')
        self.wait_for(lambda: 'fat-tree has no closed form' in error.text)
        self.assertIn('legacy-study serve', error.text)
        self.assertEqual([entry for entry in self.browser.get_log('browser')
                          if entry['level'] in ('SEVERE', 'WARNING')], [])


class ClientsTest(ServedStudy):
    definition = CLIENTS

    def test_sliders_show_what_the_replay_gives(self):
        said = self.open()
        self.assertIn('where ahead: federated.over_select: who arrives first depends', said)
        hospitals = self.curve('dense')
        self.find('#what-if-up_rates').send_keys(Keys.ARROW_LEFT)
        self.set('server_at', 'aws:us-east-1')
        self.set('packet_loss-number', 0.1)
        self.wait_for(lambda: self.curve('dense') != hospitals)
        self.assertEqual(self.curve('dense, study'), hospitals)
        rates = float(self.find('#what-if-up_rates-number').get_attribute('value'))
        self.assertLess(rates, 1)
        lines = [f'--population={ROOT}/scenarios/federated/hospitals.population.yaml',
                 f'--topo=regions:{ROOT}/topologies/hospitals.yaml', '--fidelity=flow',
                 f'--up-rates={rates}', '--packet-loss=0.001', '--at=aws:us-east-1']
        for policy in ('dense', 'topk'):
            self.assert_shows(policy, self.replayed(
                [sys.argv[3], 'replay', self.training_of(policy, clients='10'), *lines]))
        head = [cell.text for cell in self.browser.find_elements('css selector',
                                                                 '#what-if thead th')]
        self.assertEqual(head[4:], ['Round', 'Download', 'Work', 'Upload', 'Wait',
                                    'USD to target'])
        self.assertIn('study', self.find('#what-if tbody td').text)

        # Lines that meet in one switch have no places, and nothing there has a price.
        self.set('group', 1)
        for key in ('core_rates', 'core_delays', 'server_at', 'prices'):
            self.wait_for(lambda: not self.find(f'#what-if-{key}').is_enabled())
        self.assertIn('no topology', self.find('#what-if').text)
        self.assertTrue(self.find('#what-if-up_rates').is_enabled())

        # What is learnt `ahead` depends on the lines: its rounds are planned, as the program does.
        self.set('group', 2)
        self.set('up_rates-number', 0.25)
        plans = self.find('#what-if .plans')
        self.wait_for(lambda: 'times only' in self.find('#what-if-summary').text
                      and 'up-rates=0.25' in plans.get_attribute('textContent'))
        self.assertIn('no learning, times only',
                      self.find('#what-if-group option:checked').text)
        details = self.find('#what-if .plans details')
        details.find_element('css selector', 'summary').click()
        self.assertIn('dense, seed 1', details.text)
        command = details.find_element('css selector', 'code').text
        planned = self.folder / 'plan'
        said = subprocess.run(
            [sys.argv[3], *shlex.split(command)[1:], f'--out={planned}', '--markdown'], check=True,
            text=True, capture_output=True).stdout
        for row in details.find_elements('css selector', 'tr'):
            cells = [cell.get_attribute('textContent')
                     for cell in row.find_elements('css selector', 'th, td')]
            self.assertIn('| ' + ' | '.join(cells) + ' |', said)
        with open(planned / 'rounds.csv') as file:
            rounds = list(csv.DictReader(file))
        self.assert_shows('dense', [[float(row['end']), float(row['version'])] for row in rounds])
        self.assertNotEqual(self.curve('dense'), self.curve('dense, study'))

        # The command that plans it stands beside the one that trains it.
        self.find('#what-if .refused summary').click()
        train, plan = (code.text for code in
                       self.browser.find_elements('css selector', '#what-if .refused code'))
        self.assertIn('--over-select=1.5', train)
        planned = subprocess.run([sys.argv[3], *shlex.split(plan)[1:]], check=True, text=True,
                                 capture_output=True)
        self.assertIn('4 of 4 versions', planned.stdout)
        self.close()


del ServedStudy  # it is no test

if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
