import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommandRate, type CommandWindow, EMPTY_WINDOW, takeTurn } from './command-window.ts';

const MINUTE_MS = 60_000;
const RATE: CommandRate = { commands: 7, perMs: MINUTE_MS };

/** The times at which one process, which asks as often as it may, is let send something. */
function sentBetween(rate: CommandRate, fromMs: number, untilMs: number): number[] {
  const sent: number[] = [];
  let window: CommandWindow = EMPTY_WINDOW;
  for (let nowMs = fromMs; nowMs < untilMs; ) {
    const turn = takeTurn(window, rate, { process: 'a', rank: 0, nowMs });
    window = turn.window;
    if (turn.isGranted) sent.push(nowMs);
    nowMs += turn.isGranted ? 1 : turn.againMs;
  }
  return sent;
}

test('no minute of a registry, whenever it begins, has more commands than it takes, and most of them are used', () => {
  for (const rate of [RATE, { commands: 50, perMs: 1_000 }]) {
    const sent = sentBetween(rate, 1_000_000_007, 1_000_000_007 + 20 * rate.perMs);
    for (const first of sent) {
      const within = sent.filter((at) => at >= first && at < first + rate.perMs).length;
      assert.ok(within <= rate.commands, `${within} from ${first} on`);
    }
    assert.ok(sent.length >= rate.commands * 18, `${sent.length} in all`);
  }
});

test('who has waited longest goes first, whichever process it is in', () => {
  let window: CommandWindow = EMPTY_WINDOW;
  const ask = (process: string, rank: number, nowMs: number) => {
    const turn = takeTurn(window, { commands: 1, perMs: MINUTE_MS }, { process, rank, nowMs });
    window = turn.window;
    return turn.isGranted;
  };
  assert.equal(ask('a', 10, 0), true);
  assert.equal(ask('a', 30, 1_000), false);
  assert.equal(ask('b', 20, 66_000), true, 'who has gone away is waited for no longer');
  assert.equal(ask('b', 40, 129_000), false);
  assert.equal(ask('a', 30, 129_500), false);
  assert.equal(ask('b', 40, 131_000), false, 'the other is older');
  assert.equal(ask('a', 30, 131_100), true);
  assert.equal(ask('b', 40, 131_200), false);
});

test('a process whose clock is behind does not send more, and one whose clock is hours ahead stops nobody', () => {
  let window: CommandWindow = EMPTY_WINDOW;
  const ask = (nowMs: number) => {
    const turn = takeTurn(window, RATE, { process: 'a', rank: 0, nowMs });
    window = turn.window;
    return turn.isGranted;
  };
  const now = 1_000_000_000;
  for (let count = 0; count < RATE.commands; count += 1) assert.equal(ask(now + 30_000), true);
  assert.equal(ask(now), false);
  assert.equal(ask(now + 59_000), false);
  assert.equal(ask(now + 100_000), true);
  assert.equal(ask(now + 10 * 3_600_000), true);
  assert.equal(ask(now + 300_000), true);
});
