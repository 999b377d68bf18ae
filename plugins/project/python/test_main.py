"""Run it: python3 -m unittest"""

import unittest

from main import is_quiet, is_short, shout, turns
from scheduler_plugin import Error, Item, State


class Test(unittest.TestCase):
    def test_is_short(self):
        self.assertTrue(is_short(State(), Item(text="x")).include)
        self.assertFalse(is_short(State(), Item(text="x" * 200)).include)

    def test_turns(self):
        self.assertEqual(turns(State()), 0)

    def test_is_quiet(self):
        self.assertTrue(is_quiet(State(), Item(text="Good morning")).include)
        self.assertFalse(is_quiet(State(), Item(text="GOOD morning")).include)

    def test_shout(self):
        self.assertEqual("".join(shout(None, {"text": "good morning"})), "GOOD MORNING ")
        with self.assertRaises(Error):
            list(shout(None, {"text": ""}))


if __name__ == "__main__":
    unittest.main()
