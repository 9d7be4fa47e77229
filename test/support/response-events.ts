/** What clients of the OpenAI dialect rely on in the events of a response, whatever the turn. */
import assert from 'node:assert/strict';

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
export type ResponseEvent = any;

const LIFECYCLE = ['response.created', 'response.in_progress'];
const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed']);
const KNOWN = new Set([
  ...LIFECYCLE,
  ...TERMINAL,
  'response.output_item.added',
  'response.output_item.done',
  'response.content_part.added',
  'response.content_part.done',
  'response.output_text.delta',
  'response.output_text.done',
  'response.output_text.annotation.added',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'response.file_search_call.in_progress',
  'response.file_search_call.searching',
  'response.file_search_call.completed',
  'response.mcp_list_tools.in_progress',
  'response.mcp_list_tools.completed',
  'response.mcp_list_tools.failed',
  'response.mcp_call.in_progress',
  'response.mcp_call.completed',
  'response.mcp_call.failed',
  'response.mcp_call_arguments.delta',
  'response.mcp_call_arguments.done',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
  'response.reasoning_summary_text.delta',
  'response.reasoning_summary_text.done',
]);

/** The events of a stream, as they went over the wire. */
export async function readEvents(response: Response): Promise<ResponseEvent[]> {
  return parseEvents(await response.text());
}

export function parseEvents(text: string): ResponseEvent[] {
  assert.ok(!text.includes('[DONE]'), 'responses have no [DONE]');
  return text.split('\n\n').flatMap((frame) => {
    const lines = frame.split('\n');
    const data = lines.find((line) => line.startsWith('data: '));
    if (data === undefined) return [];
    const event = JSON.parse(data.slice('data: '.length));
    assert.ok(lines.includes(`event: ${event.type}`), frame);
    return [event];
  });
}

/**
 * The rules of a whole stream. `mayJump`: a takeover may have left numbers out; else they rise by one. Answers
 * with the response that the last event holds.
 */
export function checkEvents(events: readonly ResponseEvent[], { mayJump = false } = {}): ResponseEvent {
  assert.deepEqual(
    events.slice(0, 2).map(({ type }) => type),
    LIFECYCLE,
  );
  for (const [index, event] of events.entries()) {
    assert.ok(KNOWN.has(event.type), `unknown event ${event.type}`);
    const before = events[index - 1]?.sequence_number ?? -1;
    if (mayJump) assert.ok(event.sequence_number > before);
    else assert.equal(event.sequence_number, before + 1);
    if (!('response' in event)) continue;
    const isLast = index === events.length - 1;
    assert.equal(TERMINAL.has(event.type), isLast, event.type);
    if (isLast) continue;
    assert.deepEqual([event.response.output, event.response.error], [[], null]);
    assert.equal(event.response.status, 'in_progress');
  }
  const items = checkItems(events, mayJump);
  const { response } = events.at(-1);
  for (const item of response.output) {
    const done = items.get(item.id);
    assert.deepEqual(done, item, 'the item is what output_item.done showed');
  }
  assert.equal(new Set(response.output.map(({ id }: ResponseEvent) => id)).size, response.output.length);
  return response;
}

/**
 * Follows every item from its opening to its closing; answers with the closed ones by id. `mayLose`: a takeover may have
 * lost the last pieces that a reader was shown of a text which is void now.
 */
function checkItems(events: readonly ResponseEvent[], mayLose: boolean): Map<string, ResponseEvent> {
  const open = new Map<string, { index: number; type: string; callId: unknown; text: string; parts: Set<number> }>();
  const done = new Map<string, ResponseEvent>();
  let next = 0;
  for (const event of events) {
    if (event.type === 'response.output_item.added') {
      const { id, type, status, call_id: callId } = event.item;
      assert.ok(typeof id === 'string' && id !== '' && !open.has(id) && !done.has(id), `id ${id}`);
      if (mayLose) assert.ok(event.output_index >= next);
      else assert.equal(event.output_index, next);
      next = event.output_index + 1;
      if (type !== 'mcp_approval_request') assert.equal(status, 'in_progress');
      open.set(id, { index: event.output_index, type, callId, text: '', parts: new Set() });
      continue;
    }
    if (event.type === 'response.output_item.done') {
      const item = open.get(event.item.id);
      assert.ok(item, `closed without being opened: ${event.item.id}`);
      assert.deepEqual([event.output_index, event.item.type, event.item.call_id], [item.index, item.type, item.callId]);
      if (item.type !== 'mcp_approval_request') assert.notEqual(event.item.status, 'in_progress');
      const whole = wholeText(event.item);
      const isCut = mayLose && event.item.status === 'incomplete';
      if (whole !== undefined) assert.equal(isCut ? item.text.slice(0, whole.length) : item.text, whole);
      for (const part of event.item.content ?? []) assert.ok(Array.isArray(part.annotations));
      open.delete(event.item.id);
      done.set(event.item.id, event.item);
      continue;
    }
    if (event.item_id === undefined) continue;
    const item = open.get(event.item_id);
    assert.ok(item, `${event.type} of an item that is not open`);
    assert.equal(event.output_index, item.index);
    const part = event.content_index ?? event.summary_index;
    if (/part\.added$/.test(event.type)) item.parts.add(part);
    else if (part !== undefined) assert.ok(item.parts.has(part), `${event.type} before its part`);
    if (/\.delta$/.test(event.type)) item.text += event.delta;
    if (/(text|arguments)\.done$/.test(event.type) && !mayLose) {
      assert.equal(event.text ?? event.arguments, item.text, 'the deltas make the whole');
    }
  }
  if (!mayLose) assert.equal(open.size, 0, 'every item is closed');
  return done;
}

function wholeText(item: ResponseEvent): string | undefined {
  switch (item.type) {
    case 'message':
      return item.content.map(({ text }: ResponseEvent) => text).join('');
    case 'reasoning':
      return item.summary.map(({ text }: ResponseEvent) => text).join('');
    case 'function_call':
      return item.arguments;
    default:
      return undefined;
  }
}
