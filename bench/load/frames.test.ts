import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countWords, FrameReader } from './frames.ts';

describe('FrameReader', () => {
  it('gives whole frames in order, wherever the socket cut them, and no comments', () => {
    const bytes = Buffer.from('id: 1\nevent: a\ndata: {}\n\n: keep-alive\n\nevent: b\ndata: {"x":1}\n\nevent: c');
    for (let step = 1; step <= bytes.length; step++) {
      const frames: string[] = [];
      const reader = new FrameReader((frame) => frames.push(frame));
      for (let at = 0; at < bytes.length; at += step) reader.feed(bytes.subarray(at, at + step));
      assert.deepEqual(frames, ['id: 1\nevent: a\ndata: {}', 'event: b\ndata: {"x":1}']);
    }
  });
});

describe('countWords', () => {
  it('counts the words that a delta begins, with blanks on either side', () => {
    assert.equal(countWords('one'), 1);
    assert.equal(countWords(' one two'), 2);
    assert.equal(countWords('one two '), 2);
    assert.equal(countWords('\n\n'), 0);
    assert.equal(countWords(''), 0);
  });
});
