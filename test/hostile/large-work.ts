/** Large bodies, by what they ask for, and the status that is right. */

/** What the bodies have: of the largest size that the platform takes, or of a smaller one. */
export interface WorkSize {
  readonly textBytes: number;
  readonly vectors: number;
}

/** Below the limit of a body by what is around the text. */
export const LARGEST: WorkSize = { textBytes: 10 * 1024 * 1024 - 4_096, vectors: 2_048 };

/** JSON of a text that is `bytes` long as JSON. */
function jsonTextOf(unit: string, bytes: number): string {
  const json = JSON.stringify(unit).slice(1, -1);
  return `"${json.repeat(Math.floor(bytes / Buffer.byteLength(json)))}"`;
}

const PROSE = 'The quick brown fox jumps over the lazy dog, said 42 people. ';

const history = (args: string, result: string) => `"messages":[{"role":"user","content":"Hello"},
  {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${args}}}]},
  {"role":"tool","tool_call_id":"c","content":${result}}]`;

const described = (index: number) => [`p${index}`, { type: 'string', description: `${PROSE}It is number ${index}.` }];
const TOOLS = Array.from({ length: 120 }, (_, index) =>
  JSON.stringify({
    type: 'function',
    function: {
      name: `tool_${index}`,
      description: PROSE,
      parameters: {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 100 }, (_, at) => described(at + index))),
        required: [`p${index}`],
      },
    },
  }),
).join(',');

export interface Case {
  readonly status: number;
  send(): Promise<Response>;
}

/** To the platform of this URL, with a tenant's token. */
export function largeWork(
  place: { readonly url: string; readonly token: string },
  { textBytes, vectors }: WorkSize = LARGEST,
): Readonly<Record<string, Case>> {
  const textOf = (unit: string, bytes = textBytes) => jsonTextOf(unit, bytes);

  async function post(path: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(place.url + path, {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${place.token}`, 'content-type': 'application/json', ...headers },
    });
  }

  async function createSmith(): Promise<string> {
    const answer = await post('/v1/smiths', JSON.stringify({ model: 'builtin/demo' }));
    return ((await answer.json()) as { id: string }).id;
  }

  const toRun = (content: string) => async () => {
    const path = `/v1/smiths/${await createSmith()}/runs`;
    return post(path, `{"input":[{"role":"user","content":${content}}]}`);
  };

  const toChat = (rest: string) => async () => {
    const smith = { 'ic-smith-id': await createSmith() };
    return post('/v1/chat/completions', `{"model":"builtin/demo",${rest}}`, smith);
  };

  return {
    'a message of prose': { status: 201, send: toRun(textOf(PROSE)) },
    'a message of one word': { status: 201, send: toRun(textOf('x')) },
    'a message of spaces': { status: 201, send: toRun(textOf(' ')) },
    'a message in Japanese': { status: 201, send: toRun(textOf('水のように流れる。')) },
    'a message of escapes': { status: 201, send: toRun(textOf('\n\t"')) },
    'a message of what the database cannot hold': { status: 201, send: toRun(textOf('\0\\')) },
    'a hundred messages': {
      status: 201,
      async send() {
        const message = `{"role":"user","content":${textOf(PROSE, Math.floor(textBytes / 105))}}`;
        return post(`/v1/smiths/${await createSmith()}/runs`, `{"input":[${Array(100).fill(message).join(',')}]}`);
      },
    },
    'a message with an idempotency key': {
      status: 201,
      async send() {
        const body = `{"input":[{"role":"user","content":${textOf(PROSE)}}]}`;
        const smith = await createSmith();
        return post(`/v1/smiths/${smith}/runs`, body, { 'idempotency-key': smith });
      },
    },
    'a system message of a chat completion': {
      // It alone is larger than the window of the model.
      status: 502,
      send: toChat(`"messages":[{"role":"system","content":${textOf(PROSE)}},{"role":"user","content":"Hello"}]`),
    },
    'the result of a call': { status: 200, send: toChat(history('"{}"', textOf(PROSE))) },
    'the arguments of a call': {
      status: 200,
      send: toChat(history(JSON.stringify(`{"text":${textOf(PROSE, textBytes - 4_096)}}`), '"done"')),
    },
    '120 tools of 100 described parameters each': {
      // They alone are larger than the window of the model.
      status: 502,
      send: toChat(`"messages":[{"role":"user","content":"Hello"}],"tools":[${TOOLS}]`),
    },
    'the text of a response': {
      status: 200,
      send: async () =>
        post('/v1/responses', `{"model":"builtin/demo","input":${textOf(PROSE)}}`, {
          'ic-smith-id': await createSmith(),
        }),
    },
    'an item of a conversation': {
      status: 200,
      async send() {
        const made = await post('/v1/conversations', '{}', { 'ic-smith-id': await createSmith() });
        const { id } = (await made.json()) as { id: string };
        return post(`/v1/conversations/${id}/items`, `{"items":[{"role":"user","content":${textOf(PROSE)}}]}`);
      },
    },
    'vectors as numbers': {
      status: 200,
      send: () => {
        const input = Array.from({ length: vectors }, (_, index) => `word ${index % 50}`);
        return post('/v1/embeddings', JSON.stringify({ model: 'builtin/embed', input, encoding_format: 'float' }));
      },
    },
    'a number of as many digits': {
      status: 422,
      send: () => post('/v1/customers', `{"name":"Ada","metadata":{"a":${'1'.repeat(textBytes)}}}`),
    },
  };
}
