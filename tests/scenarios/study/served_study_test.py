"""Checks a served study in a real browser.

Usage: served_study_test.py LEGACY_STUDY LEGACY_REPLAY; exits with 77 (skipped) without a browser
and its driver.

The what-if panel's sliders must change its curves to those of legacy-replay on the same network.
"""

import csv
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / 'analysis/study'))
import study_page_test  # skips without a browser
from selenium.webdriver.common.keys import Keys

STUDY = '''
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
CURVE = '''const {datasets} = Chart.getChart('what-if-canvas').data;
    return datasets.find((one) => one.label === arguments[0]).data.map(({x, y}) => [x, y]);'''


class ServedStudyTest(unittest.TestCase):
    wait_for = study_page_test.StudyPageTest.wait_for
    find = study_page_test.StudyPageTest.find

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.own_rates = cls.folder / 'own_rates.yaml'
        cls.own_rates.write_text(OWN_RATES)
        (cls.folder / 'served.yaml').write_text(STUDY.replace('OWN_RATES', str(cls.own_rates)))
        cls.study = cls.folder / 'study'
        subprocess.run([sys.argv[1], 'run', cls.folder / 'served.yaml', f'--out={cls.study}',
                        '--jobs=2'], check=True, capture_output=True)
        cls.server = subprocess.Popen([sys.argv[1], 'serve', cls.study, '--port=0'],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        cls.addClassCleanup(cls.server.kill)
        cls.browser = study_page_test.open_browser()
        cls.addClassCleanup(cls.browser.quit)

    def address(self):
        said = ''
        for line in self.server.stdout:
            said += line
            if found := re.search(r'http://\S+', line):
                return found[0]
        self.fail(said)

    def replayed(self, policy, bandwidth):
        """Returns the curve that legacy-replay leaves, [seconds, accuracy] by evaluation."""
        training = next(path.parent for path in self.study.glob('trainings/*/manifest.json')
                        if f'"{policy}"' in path.read_text().split('"policies"')[1].split(']')[0])
        run = self.folder / 'replay'
        subprocess.run([sys.argv[2], training, f'--bandwidth={bandwidth}bps', '--topo=star',
                        '--stragglers=none',
                        '--fidelity=flow', f'--out={run}', '--overwrite', '--pictures=off'],
                        check=True,
                       capture_output=True)
        with open(run / 'evaluations.csv') as file:
            return [[float(row['simulated_seconds']), float(row['test_accuracy'])]
                    for row in csv.DictReader(file)]

    def test_sliders_show_what_the_engine_gives(self):
        self.browser.get(self.address())
        status = self.find('#what-if .status')
        self.wait_for(lambda: status.text.startswith('Answered'))
        before = self.browser.execute_script(CURVE, 'dense')
        self.find('#what-if-bandwidth').send_keys(Keys.ARROW_RIGHT)
        self.wait_for(lambda: self.browser.execute_script(CURVE, 'dense') != before)
        bandwidth = round(float(self.find('#what-if-bandwidth-number').get_attribute('value'))
                          * 1e6)
        self.assertGreater(bandwidth, 100_000_000)
        for policy in ('dense', 'topk'):
            expected = self.replayed(policy, bandwidth)
            shown = self.browser.execute_script(CURVE, policy)
            self.assertEqual(len(shown), len(expected))
            for (seconds, accuracy), (x, y) in zip(expected, shown):
                self.assertAlmostEqual(x / seconds, 1, delta=1e-9)
                self.assertAlmostEqual(y, accuracy, delta=1e-9)
        # A topology file that gives every link its rate leaves the slider of the rate no effect.
        slider = self.find('#what-if-bandwidth')
        self.assertTrue(slider.is_enabled())
        self.browser.execute_script('''const field = document.getElementById('what-if-topology');
            field.value = arguments[0];
            field.dispatchEvent(new Event('input'));''', str(self.own_rates))
        self.wait_for(lambda: not slider.is_enabled())
        self.assertTrue(self.find('#what-if-delay').is_enabled())
        errors = [entry for entry in self.browser.get_log('browser')
                  if entry['level'] in ('SEVERE', 'WARNING')]
        self.assertEqual(errors, [])
        self.server.send_signal(signal.SIGINT)
        self.assertEqual(self.server.wait(10), 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
