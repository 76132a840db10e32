"""Checks that the page of a study answers what-if questions as the server does.

Usage: closed_forms_test.py LEGACY_STUDY WEB; exits with 77 (skipped) without Node.js.

WEB is the folder of the page's sources. Studies with every algorithm that the page knows are run
and reported. Node.js answers random questions from what the report put into the page; the server
answers the same ones with the fidelity analytic.
"""

import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

NODE = shutil.which('node') or shutil.which('nodejs')
if not NODE:
    print('skipped: nodejs is not installed')
    sys.exit(77)

QUESTIONS = 12  # of each group
TOLERANCE = 1e-9
NANOSECOND = 1.01e-9

# Buckets are small, so that several are on their way at once.
STUDY = '''
study: {{name: {name}}}
scenario:
  training: {{model: lenet5, batch: 2, steps: 6, warmup_steps: 2, evaluate_every: 1,
              train_limit: 64, test_limit: 40, target: 12%}}
  compression: {{policies: [{policies}]}}
  network: {{fidelity: flow, {network}}}
  clock: {{bucket: {bucket}}}
grid:
  workers: [{workers}]
'''
STUDIES = {
    'ring': dict(policies='dense, topk, sidco, powersgd, lgreco', workers='2, 3, 8',
                 network='stragglers: none', bucket='40KB'),
    'halving': dict(policies='dense, fp16', workers='2, 5, 7, 8, 11', bucket='100KB',
                    network='stragglers: "fixed:count=1,factor=2", '
                            'allreduce: halving-doubling-allreduce'),
    'direct': dict(policies='dense, topk, sidco', workers='3, 7', bucket='40KB',
                   network='stragglers: none, allreduce: direct-allreduce, '
                           'allgather: direct-allgather, mtu: 9000, transport: wan'),
    'server': dict(policies='dense, topk, sidco', workers='2, 5', bucket='40KB',
                   network='stragglers: none, aggregation: parameter-server'),
    'roce': dict(policies='dense, topk', workers='4', bucket='25MiB',
                 network='stragglers: none, transport: "roce:switch-delay=1us"'),
}
# What has no closed form, and a part of the reason.
REFUSED = {
    'topology: "fat-tree:k=4", stragglers: none': 'fat-tree:k=4 is not one switch',
    'stragglers: "lognormal:sigma=0.5"': 'its stragglers',
    'stragglers: none, allreduce: auto': 'chosen by the network',
    'stragglers: none, allreduce: double-tree-allreduce': 'double-tree-allreduce',
    'stragglers: none, streams: 2': 'several streams',
    'stragglers: none, phases: "0%:bandwidth=1Gbps;50%:bandwidth=1Mbps"': 'changes during',
    'stragglers: none, transport: "roce:cc=hpcc"': 'HPCC',
    'stragglers: none, changes: "host3<>*@outage:from=60s,for=30s"': 'not one switch',
}
HARNESS = '''
const fs = require('fs');
const [web, input] = process.argv.slice(2);
const read = (name) => fs.readFileSync(`${web}/${name}.js`, 'utf8');
const element = () => null;
const pageAnswers = new Function('element', read('closed_forms') + read('page_answers') +
                                 'return pageAnswers;')(element);
const {data, questions} = JSON.parse(fs.readFileSync(input));
const answers = pageAnswers(data, 'legacy-study');
const ask = (question) => answers.ask(question, new AbortController().signal).catch(
  ({message}) => ({error: message}));
Promise.all(questions.map(ask)).then((all) => console.log(JSON.stringify(all)));
'''


def random_question(draw, group):
    """Returns a question about a group, or about its own network where draw says so."""
    if draw.random() < 0.1:
        return {'group': group['id']}
    slow = draw.randrange(group['workers'] + 1)
    return {'group': group['id'], 'fidelity': 'analytic',
            'bandwidth': draw.choice([round(10 ** draw.uniform(5, 12)), 1e9, 9600]),
            'delay': draw.choice([float(f'{10 ** draw.uniform(-8, -1):.3g}'), 0]),
            'slow_workers': slow, 'slowdown': draw.uniform(1, 20) if slow else 1,
            'device_speed': draw.choice([0.25, 1, 8]), 'codec_speed': draw.choice([0.5, 1, 64])}


class ClosedFormsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_study(self, name, **parts):
        """Runs and reports a study. Returns its folder, and what its page answers with."""
        definition = self.folder / f'{name}.yaml'
        if 'topology' not in parts['network']:
            parts['network'] += ', topology: star'
        definition.write_text(STUDY.format(name=name, **parts))
        study = self.folder / name
        for command in (['run', definition, f'--out={study}', '--jobs=2'],
                        ['report', study, '--figures=off']):
            subprocess.run([sys.argv[1], *command], check=True, capture_output=True)
        page = (study / 'report/index.html').read_text()
        embedded = re.search(r'<script type="application/json" id="study">(.*?)</script>', page)
        return study, json.loads(embedded[1])['closed_forms']

    def ask_page(self, data, questions):
        path = self.folder / 'questions.json'
        path.write_text(json.dumps({'data': data, 'questions': questions}))
        harness = self.folder / 'harness.js'
        harness.write_text(HARNESS)
        answered = subprocess.run([NODE, harness, sys.argv[2], path], check=True,
                                  capture_output=True, text=True)
        return json.loads(answered.stdout)

    def ask_server(self, study, questions):
        with subprocess.Popen([sys.argv[1], 'serve', study, '--port=0'], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as server:
            try:
                said = ''
                while not (address := re.search(r'http://\S+', said)):
                    line = server.stdout.readline()
                    self.assertTrue(line, said)
                    said += line
                answers = []
                for question in questions:
                    body = json.dumps({'fidelity': 'analytic', **question}).encode()
                    request = urllib.request.Request(address[0] + 'api/what-if', data=body)
                    with urllib.request.urlopen(request) as response:
                        answers.append(json.load(response))
                return answers
            finally:
                server.kill()

    def assert_close(self, got, want, where, slack=0):
        if want is None:
            self.assertIsNone(got, where)
        else:
            self.assertLessEqual(abs(got - want), TOLERANCE * abs(want) + slack,
                                 f'{where}: {got} is not {want}')

    def assert_same(self, got, want, where, slack=0):
        """Compares answers. Parts may cancel: they are close as parts of the step."""
        self.assertEqual([one['policy'] for one in got['policies']],
                         [one['policy'] for one in want['policies']], where)
        for mine, other in zip(got['policies'], want['policies']):
            self.assertEqual(len(mine['seeds']), len(other['seeds']))
            for run, expected in zip(mine['seeds'], other['seeds']):
                at = f'{where}, {mine["policy"]}, seed {run["seed"]}'
                self.assertEqual(run['seed'], str(expected['seed']))
                for key in ('time_to_target', 'simulated_seconds', 'step_seconds'):
                    self.assert_close(run[key], expected[key], f'{at}: {key}', slack)
                self.assertEqual(list(run['parts'].keys() ^ expected['parts'].keys()), [])
                for part, seconds in expected['parts'].items():
                    self.assert_close(run['parts'][part], seconds, f'{at}: {part}',
                                      slack + TOLERANCE * expected['step_seconds'])
                self.assertEqual(len(run['curve']), len(expected['curve']))
                for point, other_point in zip(run['curve'], expected['curve']):
                    self.assert_close(point[0], other_point[0], f'{at}: curve', slack)
                    self.assertEqual(point[1], other_point[1], at)

    def check(self, name):
        draw = random.Random(name)
        study, data = self.run_study(name, **STUDIES[name])
        self.assertEqual(data['refused'], [])
        self.assertEqual(len(data['groups']), len(STUDIES[name]['workers'].split(',')))
        self.assertLess(len(json.dumps(data)), 200_000)
        questions = [random_question(draw, group) for group in data['groups']
                     for _ in range(QUESTIONS)]
        reached = set()
        for question, got, want in zip(questions, self.ask_page(data, questions),
                                       self.ask_server(study, questions)):
            self.assertNotIn('error', got, question)
            self.assert_same(got, want, f'{name}: {question}')
            reached |= {seed['time_to_target'] is not None
                        for policy in want['policies'] for seed in policy['seeds']}
        self.assertIn(True, reached, 'otherwise no time to target was compared')
        return data, study

    def assert_algorithms(self, data, *expected):
        self.assertEqual({call['algorithm'] for group in data['groups']
                          for template in group['plan']['templates']
                          for bucket in template['buckets'] for call in bucket['calls']},
                         set(expected))

    def test_rings(self):
        data, study = self.check('ring')
        self.assert_algorithms(data, 'ring-allreduce', 'ring-allgather', 'broadcast')
        steps = [step for group in data['groups'] for step in group['plan']['steps']]
        self.assertTrue(any(isinstance(value, list) for step in steps for value in step[1:]),
                        'workers whose messages differ in length')
        self.assertTrue(any(len(template['buckets']) > 1 for group in data['groups']
                            for template in group['plan']['templates']), 'buckets that overlap')
        # Speeds that are no powers of two round the device's work in another order.
        questions = [{'group': 0, 'device_speed': speed, 'codec_speed': 1 / speed}
                     for speed in (0.3, 1.7, 9.9)]
        for question, got, want in zip(questions, self.ask_page(data, questions),
                                       self.ask_server(study, questions)):
            self.assert_same(got, want, str(question), slack=6 * 40 * NANOSECOND)

    def test_halving_and_doubling(self):
        data, _ = self.check('halving')
        self.assert_algorithms(data, 'halving-doubling-allreduce')

    def test_direct_algorithms_on_long_links(self):
        data, _ = self.check('direct')
        self.assert_algorithms(data, 'direct-allreduce', 'direct-allgather')

    def test_a_parameter_server(self):
        data, _ = self.check('server')
        self.assert_algorithms(data, 'parameter-server')

    def test_rdma(self):
        self.check('roce')

    def test_says_what_has_no_closed_form(self):
        for number, (network, reason) in enumerate(REFUSED.items()):
            _, data = self.run_study(f'refused-{number}', policies='dense', workers='4',
                                     network=network, bucket='25MiB')
            self.assertEqual(data['groups'], [], network)
            self.assertIn(reason, data['refused'][0]['reason'])
            self.assertEqual(data['refused'][0]['policies'], ['dense'])

    def test_refuses_other_networks_with_a_command(self):
        study, data = self.run_study('other', policies='dense', workers='4', bucket='25MiB',
                                     network='stragglers: none')
        questions = [{'group': 0, 'topology': 'leaf-spine'}, {'group': 0, 'fidelity': 'flow'},
                     {'group': 0, 'slow_workers': 5}, {'group': 0, 'bandwidth': 0}]
        answers = [one['error'] for one in self.ask_page(data, questions)]
        for answer in answers[:2]:
            self.assertIn('run "legacy-study serve"', answer)
        self.assertIn('at most 4', answers[2])
        self.assertIn('bandwidth: got 0', answers[3])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
