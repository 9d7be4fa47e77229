import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { checkEvents, type ResponseEvent } from '../../../../../test/support/response-events.ts';
import { mintId } from '../../../../kernel/ids/ids.ts';
import { ShownFrame } from '../../../engine/timeline/frames.ts';
import type { JsonObject } from '../../../tables.ts';
import { messageItemId, reasoningItemId } from '../item-ids.ts';
import { ResponseFold } from './fold-response.ts';

const runId = mintId('run');
const USAGE = { input_tokens: 10, output_tokens: 4 };

/** Frames as a turn makes them, numbered one after the other. */
class Timeline {
  readonly frames: ShownFrame[] = [];
  seq = 0;

  add(type: string, data: JsonObject = {}): this {
    this.seq += 1;
    this.frames.push(new ShownFrame(runId, { seq: this.seq, type, data, createdAt: '2026-01-01T00:00:00.000Z' }));
    return this;
  }

  text(type: 'message.delta' | 'reasoning', step: number, ...pieces: string[]): this {
    this.seq += pieces.length;
    const data = { text: pieces.join(''), step };
    const createdAt = '2026-01-01T00:00:00.000Z';
    this.frames.push(new ShownFrame(runId, { seq: this.seq, type, data, pieces, createdAt }));
    return this;
  }

  /** Numbers that nobody has any more. */
  lose(count: number): this {
    this.seq += count;
    return this;
  }

  said(step: number, content: string): this {
    return this.add('message.completed', { step, content, content_type: 'text/plain' });
  }

  end(stopReason = 'stop'): this {
    return this.add('run.completed', { stop_reason: stopReason, usage: USAGE });
  }
}

function begin(): Timeline {
  return new Timeline().add('run.started');
}

function newFold(options: { searches?: JsonObject[]; showResults?: boolean; holdText?: boolean } = {}): ResponseFold {
  const { searches = [], showResults = false, holdText = false } = options;
  return new ResponseFold(
    { runId, after: 0, used: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 }, searches },
    { showResults, holdText, render: (outcome) => ({ id: 'resp_1', ...outcome }) },
  );
}

function foldAll(frames: readonly ShownFrame[], fold = newFold()): ResponseEvent[] {
  return [...fold.open(), ...frames.flatMap((frame) => fold.fold(frame))];
}

/** The frame in pieces of one each, as a reader who is there all the time gets them. */
function split(frame: ShownFrame): ShownFrame[] {
  const { pieces, seq, type, data, createdAt } = frame;
  if (pieces === undefined) return [frame];
  return pieces.map((text, index) => {
    const at = seq - pieces.length + 1 + index;
    return new ShownFrame(runId, { seq: at, type, data: { ...data, text }, pieces: [text], createdAt });
  });
}

describe('the events of a segment', () => {
  test('a text', () => {
    const events = foldAll(begin().text('message.delta', 0, 'Good ', 'day').said(0, 'Good day').end().frames);
    const response = checkEvents(events);
    assert.deepEqual(
      events.map(({ type }) => type.replace('response.', '')),
      [
        'created',
        'in_progress',
        'output_item.added',
        'content_part.added',
        'output_text.delta',
        'output_text.delta',
        'output_text.done',
        'content_part.done',
        'output_item.done',
        'completed',
      ],
    );
    assert.equal(response.output[0].content[0].text, 'Good day');
  });

  test('thoughts come before what is said, and again where the model thinks again', () => {
    const timeline = begin().text('reasoning', 0, 'Hm').text('message.delta', 0, 'A').text('reasoning', 0, 'But');
    const { output } = checkEvents(foldAll(timeline.text('message.delta', 0, 'B').said(0, 'AB').end().frames));
    assert.deepEqual(
      output.map(({ id }: ResponseEvent) => id),
      [reasoningItemId(runId, 0), messageItemId(runId, 0), reasoningItemId(runId, 0, 1), messageItemId(runId, 0, 1)],
    );
  });

  test('an answer without a word is an empty message', () => {
    const { output, status } = checkEvents(foldAll(begin().said(0, '').end().frames));
    assert.deepEqual([status, output[0].content[0].text], ['completed', '']);
  });

  test('an answer that reached its limit is incomplete, and its message too', () => {
    const frames = begin().text('message.delta', 0, 'Half').said(0, 'Half').end('length').frames;
    const { status, incomplete_details, output } = checkEvents(foldAll(frames));
    assert.deepEqual(
      [status, incomplete_details, output[0].status],
      ['incomplete', { reason: 'max_output_tokens' }, 'incomplete'],
    );
  });

  test('a failure keeps what was said until then, and says why', () => {
    const frames = begin()
      .text('message.delta', 0, 'Half')
      .add('run.failed', {
        error: { code: 'model_request_failed', message: 'No.' },
      }).frames;
    const { status, error, output } = checkEvents(foldAll(frames));
    assert.deepEqual(
      [status, error, output[0].status],
      ['failed', { code: 'model_request_failed', type: 'api_error', message: 'No.' }, 'incomplete'],
    );
  });

  test('calls for the client end it, those that this server makes are not shown', () => {
    const frames = begin()
      .add('tool.executing', { tool: 'current_time', tool_call_id: 'call_0', args: {} })
      .add('tool.completed', { tool: 'current_time', tool_call_id: 'call_0', output: { now: 1 } })
      .add('run.paused', {
        reason: 'tool_result',
        tool_calls: [
          { id: 'call_1', name: 'a', arguments: { x: 1 }, status: 'requires_result' },
          { id: 'call_2', name: 'b', arguments: {}, status: 'requires_approval', approval_id: 'apr_1' },
        ],
        usage: USAGE,
      }).frames;
    const { status, output, usage } = checkEvents(foldAll(frames));
    assert.deepEqual(
      output.map(({ type, call_id: callId, id, arguments: args }: ResponseEvent) => [type, callId ?? id, args]),
      [
        ['function_call', 'call_1', '{"x":1}'],
        ['mcp_approval_request', 'apr_1', '{}'],
      ],
    );
    assert.deepEqual([status, usage.total_tokens], ['completed', 14]);
  });

  test('a search shows its question, and what it found where that is asked for', () => {
    const results = [
      {
        marker: '【1†a.txt】',
        file_id: 'file_1',
        filename: 'a.txt',
        vector_store_id: 'vs_1',
        score: 1,
        attributes: null,
        text: 'Aha',
      },
    ];
    const frames = begin()
      .add('tool.executing', { tool: 'file_search', tool_call_id: 'call_0', args: { query: 'what?' } })
      .add('tool.completed', { tool: 'file_search', tool_call_id: 'call_0', output: { query: 'what?', results } })
      .text('message.delta', 2, 'Aha 【1†a.txt】')
      .said(2, 'Aha 【1†a.txt】')
      .end().frames;
    const plain = checkEvents(foldAll(frames)).output;
    assert.deepEqual([plain[0].queries, plain[0].results], [['what?'], null]);
    assert.deepEqual(plain[1].content[0].annotations, [
      { type: 'file_citation', index: 4, file_id: 'file_1', filename: 'a.txt' },
    ]);
    const [search] = checkEvents(foldAll(frames, newFold({ showResults: true }))).output;
    assert.deepEqual(search.results, [{ file_id: 'file_1', filename: 'a.txt', score: 1, attributes: {}, text: 'Aha' }]);
    const later = begin().text('message.delta', 0, 'See 【1†a.txt】').said(0, 'See 【1†a.txt】').end().frames;
    const { output } = checkEvents(foldAll(later, newFold({ searches: [{ results }] })));
    assert.equal(output[0].content[0].annotations.length, 1);
  });

  test('frames behind its end are another segment’s', () => {
    const timeline = begin().add('run.paused', { tool_calls: [], usage: USAGE });
    const ended = foldAll(timeline.frames);
    assert.deepEqual(foldAll(timeline.text('message.delta', 1, 'Later').said(1, 'Later').end().frames), ended);
  });
});

/** The events between the opening and the end, without their prefix. */
const TRANSCRIPTS: Readonly<Record<string, readonly [frames: Timeline, events: string]>> = {
  'thoughts and a text': [
    begin().text('reasoning', 0, 'Hm').text('message.delta', 0, 'A').said(0, 'A').end(),
    'output_item.added reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.done ' +
      'reasoning_summary_part.done output_item.done output_item.added content_part.added output_text.delta ' +
      'output_text.done content_part.done output_item.done completed',
  ],
  'a call': [
    begin().add('run.paused', { tool_calls: [{ id: 'call_1', name: 'a', arguments: {}, status: 'requires_result' }] }),
    'output_item.added function_call_arguments.delta function_call_arguments.done output_item.done completed',
  ],
  'an approval': [
    begin().add('run.paused', {
      tool_calls: [{ id: 'c', name: 'a', status: 'requires_approval', approval_id: 'apr_1' }],
    }),
    'output_item.added output_item.done completed',
  ],
  'a search': [
    begin()
      .add('tool.executing', { tool: 'file_search', tool_call_id: 'c', args: { query: 'q' } })
      .add('tool.completed', { tool: 'file_search', tool_call_id: 'c', output: { results: [] } })
      .said(2, '')
      .end(),
    'output_item.added file_search_call.in_progress file_search_call.searching file_search_call.completed ' +
      'output_item.done output_item.added content_part.added output_text.done content_part.done output_item.done completed',
  ],
  'a limit': [
    begin().text('message.delta', 0, 'A').said(0, 'A').end('length'),
    'output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done incomplete',
  ],
  'a failure': [begin().add('run.failed', { error: { code: 'run_failed', message: 'No.' } }), 'failed'],
  'a cancelled text': [
    begin().text('message.delta', 0, 'A').add('run.cancelled', { usage: USAGE }),
    'output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done incomplete',
  ],
};

describe('the transcript of', () => {
  for (const [what, [timeline, expected]] of Object.entries(TRANSCRIPTS)) {
    test(what, () => {
      const events = foldAll(timeline.frames);
      checkEvents(events);
      const types = events.slice(2).map(({ type }) => type.replace('response.', ''));
      assert.equal(types.join(' '), expected);
    });
  }
});

describe('what cannot be taken back', () => {
  test('the text of a call that a takeover repeats is closed, and no part of the response', () => {
    const frames = begin()
      .text('reasoning', 0, 'Hm')
      .text('message.delta', 0, 'Good ', 'mor')
      .lose(2_000_000)
      .add('run.restarted', { attempt: 2, step: 0 })
      .text('message.delta', 0, 'Good ', 'day')
      .said(0, 'Good day')
      .end().frames;
    const events = foldAll(frames);
    const { output } = checkEvents(events, { mayJump: true });
    assert.deepEqual(
      output.map((item: ResponseEvent) => [item.type, item.content?.[0].text]),
      [['message', 'Good day']],
    );
    const closed = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item.status);
    assert.deepEqual(closed, ['completed', 'incomplete', 'completed']);
  });

  test('what a dead server may have shown beyond the store takes no numbers of what follows', () => {
    const before = begin().text('message.delta', 0, 'Good ', 'mor', 'ning');
    const shown = foldAll(before.frames).at(-1).sequence_number;
    const after = begin()
      .text('message.delta', 0, 'Good ')
      .lose(1_000_000)
      .add('run.restarted', { attempt: 2, step: 0 })
      .text('message.delta', 0, 'Evening')
      .said(0, 'Evening')
      .end();
    const behind = foldAll(after.frames).filter((event) => event.sequence_number > shown);
    assert.equal(
      behind
        .filter(({ type }) => type === 'response.output_text.delta')
        .map(({ delta }) => delta)
        .join(''),
      'Evening',
    );
    assert.equal(behind.at(-1).type, 'response.completed');
  });

  test('an answer in a format that was not asked for is closed, and no part of the response', () => {
    const frames = begin()
      .text('message.delta', 0, 'nonsense')
      .text('message.delta', 1, '{}')
      .said(1, '{}')
      .end().frames;
    const { output } = checkEvents(foldAll(frames));
    assert.deepEqual(
      output.map((item: ResponseEvent) => item.content[0].text),
      ['{}'],
    );
    const held = foldAll(frames, newFold({ holdText: true }));
    assert.deepEqual(checkEvents(held).output, output);
    assert.equal(
      held
        .filter(({ type }) => type === 'response.output_text.delta')
        .map(({ delta }) => delta)
        .join(''),
      '{}',
      'where a format is demanded the rejected answer is not shown at all',
    );
  });
});

test('the same events with the same numbers, however the frames are joined', () => {
  const step = fc.record({
    thoughts: fc.array(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 4 }),
    pieces: fc.array(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 6 }),
    takenOver: fc.boolean(),
  });
  const end = fc.constantFrom('stop', 'length', 'content_filter');
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1, maxLength: 4 }),
      end,
      fc.nat(3),
      fc.boolean(),
      (steps, stopReason, size, holdText) => {
        const timeline = begin();
        for (const [index, { thoughts, pieces, takenOver }] of steps.entries()) {
          if (thoughts.length > 0) timeline.text('reasoning', index, ...thoughts);
          if (pieces.length > 0) timeline.text('message.delta', index, ...pieces);
          if (takenOver) timeline.lose(1_000).add('run.restarted', { attempt: index + 2, step: index });
          else if (pieces.length > 0) timeline.said(index, pieces.join(''));
        }
        timeline.end(stopReason);
        const fold = (frames: readonly ShownFrame[]) => foldAll(frames, newFold({ holdText }));
        const joined = fold(timeline.frames);
        checkEvents(joined, { mayJump: steps.some(({ takenOver }) => takenOver) });
        assert.deepEqual(fold(timeline.frames.flatMap(split)), joined);
        // A reader who comes behind a part of a joined text gets the rest of it.
        const mixed = timeline.frames.flatMap((frame) => (frame.pieces?.length === size ? split(frame) : [frame]));
        assert.deepEqual(fold(mixed), joined);
      },
    ),
  );
});
