/** What the fuzzer tries: each attempt an input, and a call that tells what was wrong with the answer. */
import { setTimeout as wait } from 'node:timers/promises';
import { NAUGHTY_STRINGS } from '../conformance/naughty-strings.ts';
import { createValueMaker, type Dice, type Schema } from '../conformance/schema-values.ts';
import { type DocumentCase, SCHEMA_PLACES } from '../hostile/cases.ts';
import { documents } from '../hostile/documents.ts';
import { schemas } from '../hostile/schemas.ts';
import { indexDocument, sendSchema, type Tenant } from '../hostile/tenants.ts';
import { makePattern, makeSchema } from './make-schema.ts';
import { mutateBytes, mutateParts, mutatePdf } from './mutate-bytes.ts';

export interface Attempt {
  readonly kind: string;
  /** Of the file that keeps the input where it failed. */
  readonly filename: string;
  readonly input: Buffer;
  /** How long it may take. */
  readonly budgetMs: number;
  /** What was wrong with the answer; undefined where nothing was. */
  run(tenant: Tenant): Promise<string | undefined>;
}

export type MakeAttempt = (dice: Dice) => Attempt;

const REQUEST_MS = 60_000;
/** Files wait for each other's turn. */
const DOCUMENT_MS = 400_000;
/** What is larger is slow to change and to send, and rarely tells more. */
const SEED_BYTES = 300_000;
const MUTANT_BYTES = 1_000_000;
/** The rest of the time would go into embeddings. */
const TEXT_CHARACTERS = 30_000;

interface Seed {
  readonly document: DocumentCase;
  readonly bytes: Buffer;
}

/** Changed documents of the corpus of hostile ones. */
export function documentAttempts(): MakeAttempt {
  const seeds = documents.flatMap((document): Seed[] => {
    const bytes = Buffer.from(document.bytes());
    return bytes.length > SEED_BYTES ? [] : [{ document, bytes }];
  });
  return (dice) => {
    const { document, bytes } = dice.pick(seeds);
    return attemptDocument('document', { ...document, bytes: () => mutateDocument(dice, bytes) });
  };
}

function mutateDocument(dice: Dice, bytes: Buffer): Buffer {
  const start = bytes.toString('latin1', 0, 4);
  if (start === '%PDF') return mutatePdf(dice, bytes, MUTANT_BYTES);
  const parts = start === 'PK\x03\x04' && dice.chance(0.85) ? mutateParts(dice, bytes, MUTANT_BYTES) : undefined;
  return parts ?? mutateBytes(dice, bytes, MUTANT_BYTES);
}

const MARKUP = [
  '<',
  '</',
  '>',
  'div',
  'table',
  'tr',
  'td',
  'th',
  'ol',
  'li',
  'pre',
  'b',
  ' a="',
  '"',
  '&amp;',
  '&#',
  '<!--',
  '-->',
  '<script>',
  '<p>',
  '<br>',
  '<a href=',
  '<ul><li>',
  '<blockquote>',
  '<select><option>',
  '<svg>',
  '<template>',
  '<h1>',
];
const MARKDOWN = [
  '# ',
  '* ',
  '_',
  '**',
  '`',
  '```\n',
  '[',
  '](',
  ')',
  '![',
  '> ',
  '1. ',
  '|',
  '|-|-|\n',
  '\\',
  '<div>',
  '- [ ] ',
  '    ',
  '~~',
  '[^1]',
  '---\n',
  '&nbsp;',
  'http://a.b',
];
const WORDS = ['tea', ' ', '\n', '\n\n', 'A', '1', '\u0301', '😀', '漢', 'ﷺ', '\t', '.', "'s", '\r'];

/** Text made of what a page or a Markdown file has, in no order. */
export function textAttempts(): MakeAttempt {
  return (dice) => {
    const [filename, pieces] = dice.pick([
      ['a.html', MARKUP],
      ['a.md', MARKDOWN],
      ['a.txt', NAUGHTY_STRINGS],
      ['a.csv', [',', '"', ';', '\n', '""', '\t', '|', '\r\n']],
    ] as const);
    const bytes = makeText(dice, [...pieces, ...WORDS]);
    return attemptDocument('text', { name: 'text', filename, bytes: () => bytes, answer: 'completed' });
  };
}

function makeText(dice: Dice, pieces: readonly string[]): Buffer {
  let text = '';
  for (let parts = 1 + dice.below(300); parts > 0 && text.length < TEXT_CHARACTERS; parts -= 1) {
    const piece = dice.pick(pieces);
    const times = dice.chance(0.9) ? 1 : dice.pick([10, 300, 5_000]);
    text += piece.repeat(Math.min(times, Math.ceil(TEXT_CHARACTERS / Math.max(1, piece.length))));
  }
  return Buffer.from(text);
}

function attemptDocument(kind: string, document: DocumentCase): Attempt {
  const input = Buffer.from(document.bytes());
  return {
    kind,
    filename: document.filename.replaceAll('/', '_'),
    input,
    budgetMs: DOCUMENT_MS,
    async run(tenant) {
      const { answer, message, fileId } = await indexDocument(tenant, { ...document, bytes: () => input });
      await tenant.client.delete(`/v1/files/${fileId}`);
      return answer === 'server_error' || answer === 'cancelled' ? `${answer}: ${message}` : undefined;
    },
  };
}

/** Schemas and patterns, made and changed, in each place that takes them. */
export function schemaAttempts(): MakeAttempt {
  const seeds = schemas.flatMap((case_) => {
    const schema = case_.schema();
    const json = typeof schema === 'string' ? schema : JSON.stringify(schema);
    return json.length > SEED_BYTES ? [] : [json];
  });
  return (dice) => {
    const json = makeSchemaJson(dice, seeds);
    const place = dice.pick(SCHEMA_PLACES);
    return {
      kind: 'schema',
      filename: `${place.replace(' ', '-')}.json`,
      input: Buffer.from(json),
      budgetMs: REQUEST_MS,
      async run(tenant) {
        const case_ = {
          name: '',
          schema: () => json,
          args: () => ({ a: 'a'.repeat(40), b: 1 }),
          answer: 'either',
        } as const;
        const { answer } = await sendSchema(tenant, case_, place);
        return judgeStatus(answer.status, answer.text);
      },
    };
  };
}

function makeSchemaJson(dice: Dice, seeds: readonly string[]): string {
  switch (dice.below(4)) {
    case 0:
      return mutateBytes(dice, Buffer.from(dice.pick(seeds)), MUTANT_BYTES).toString('utf8');
    case 1:
      return JSON.stringify({
        type: 'object',
        properties: { a: { type: 'string', pattern: makePattern(dice) } },
        required: ['a'],
      });
    default:
      return JSON.stringify(makeSchema(dice));
  }
}

/** Uploads whose parts, headers and ends are not as RFC 7578 has them. */
export function multipartAttempts(): MakeAttempt {
  return (dice) => {
    const boundary = dice.pick(['b', 'b'.repeat(70), '--', '"', 'a b', '\u00ff']);
    const headers = [
      'Content-Disposition: form-data; name="file"; filename="a.txt"',
      'Content-Disposition: form-data; name="purpose"',
      'Content-Type: text/plain',
      'Content-Transfer-Encoding: base64',
      `X-A: ${'a'.repeat(20_000)}`,
      'Content-Disposition: form-data; name="__proto__"',
      "Content-Disposition: form-data; name*=utf-8''file; filename*=utf-8''%ff",
    ];
    let body = '';
    for (let parts = dice.below(dice.chance(0.1) ? 2_000 : 5); parts > 0; parts -= 1) {
      body += `--${boundary}\r\n${dice.pick(headers)}\r\n${dice.chance(0.3) ? `${dice.pick(headers)}\r\n` : ''}\r\n${dice.chance(0.5) ? 'assistants' : dice.pick(NAUGHTY_STRINGS)}\r\n`;
    }
    body += `--${boundary}--\r\n`;
    const input = dice.chance(0.4) ? Buffer.from(body) : mutateBytes(dice, Buffer.from(body), MUTANT_BYTES);
    const contentType = `multipart/form-data; boundary=${dice.chance(0.8) ? boundary : 'other'}`;
    return attemptRequest('multipart', 'POST', '/v1/files', contentType, input);
  };
}

export interface DescribedOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly body: Schema;
}

/** Bodies of JSON for every operation that takes one, near what it allows and far from it. */
export function jsonAttempts(
  operations: readonly DescribedOperation[],
  components: Readonly<Record<string, Schema>>,
): MakeAttempt {
  return (dice) => {
    const operation = dice.pick(operations);
    const maker = createValueMaker(dice, components, {
      model: ['builtin/demo', 'nope/x'],
      base_url: ['http://127.0.0.1:1/v1'],
    });
    const valid = maker.valid(operation.body);
    const json = JSON.stringify(dice.chance(0.7) ? maker.bend(valid) : valid) ?? '';
    const input = dice.chance(0.8) ? Buffer.from(json) : mutateBytes(dice, Buffer.from(json), MUTANT_BYTES);
    return attemptRequest(`json ${operation.id}`, operation.method, operation.path, 'application/json', input);
  };
}

function attemptRequest(kind: string, method: string, path: string, contentType: string, input: Buffer): Attempt {
  return {
    kind,
    filename: `${method}-${path.replaceAll(/[^\w]+/g, '-')}.txt`,
    input,
    budgetMs: REQUEST_MS,
    async run({ url, client, smithId, storeId }) {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        name === 'sid' ? smithId : name === 'vsId' ? storeId : 'missing',
      );
      const response = await fetch(new URL(filled, url), {
        method,
        headers: {
          authorization: `Bearer ${client.token}`,
          'content-type': encodeURI(contentType),
          'ic-smith-id': smithId,
        },
        body: new Uint8Array(input),
        signal: AbortSignal.timeout(this.budgetMs),
      });
      if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) {
        await Promise.race([response.text(), wait(STREAM_MS)]);
        return undefined;
      }
      return judgeStatus(response.status, await response.text());
    },
  };
}

/** A stream that is still open then is left: that it ends is another test's concern. */
const STREAM_MS = 2_000;

/** 502 says that a provider of channels could not be asked, as none can here; any other is wrong. */
const PROVIDER_AWAY = /"code":"(slack|telegram|whatsapp)_api_error"/;

function judgeStatus(status: number, text: string): string | undefined {
  const isRight = status < 500 || status === 501 || status === 503 || (status === 502 && PROVIDER_AWAY.test(text));
  return isRight ? undefined : `${status} ${text.slice(0, 500)}`;
}
