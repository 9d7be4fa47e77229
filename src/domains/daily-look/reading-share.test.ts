import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readingShare } from './reading-share.ts';

const HOUR = { commands: 36_000, namesACheck: 10, commandsARead: 2 };

test('all names are read each day where the commands are enough', () => {
  assert.equal(readingShare(0, HOUR), 1);
  assert.equal(readingShare(18_000, HOUR), 1);
  assert.ok(readingShare(18_001, HOUR) < 1);
});

test('a share of them takes no more than the commands of the day, with the checks of the others', () => {
  for (const names of [20_000, 50_000, 100_000]) {
    for (const namesACheck of [10, 50, 100]) {
      for (const commandsARead of [1, 2]) {
        const look = { ...HOUR, namesACheck, commandsARead };
        const share = readingShare(names, look);
        const spent = names * share * commandsARead + (names * (1 - share)) / namesACheck;
        assert.ok(spent <= look.commands, `${names} names: ${spent}`);
        assert.ok(share >= 0.1, `${names} names are read within ${1 / share} days`);
      }
    }
  }
});

test('where even the checks are too many, names are read in four weeks', () => {
  assert.equal(readingShare(10_000_000, HOUR), 1 / 28);
});
