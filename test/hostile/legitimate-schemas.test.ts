/** Schemas as large as OpenAI takes, and as the usual tools make them, sent by OpenAI's SDK: limits are for others. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { z as z3 } from 'zod/v3';
import { z } from 'zod/v4';
import { startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { startPlatform } from '../support/platform.ts';
import { FAKE_MODEL, sentBody, useUpstream } from '../support/turns.ts';

type Schema = Record<string, unknown>;

/** The demo model's window is too small for tools of this size, and what a provider receives is the point here. */
const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});
const project = await platform.createProject();
await useUpstream(project, upstream);
const smithId = await project.createSmith();
const token = await project.smithToken(smithId, ['runs:read', 'runs:write']);
const openai = new OpenAI({ apiKey: token, baseURL: `${platform.url}/v1`, maxRetries: 0 });
const model = 'builtin/demo';
const messages = [{ role: 'user' as const, content: 'Fill it in.' }];

async function answerTo(schema: Schema): Promise<unknown> {
  const { choices } = await openai.chat.completions.create({
    model,
    messages,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
  });
  return JSON.parse(choices[0]?.message.content ?? '');
}

async function textAnswerTo(schema: Schema): Promise<unknown> {
  const { output_text } = await openai.responses.create({
    model,
    input: 'Fill it in.',
    text: { format: { type: 'json_schema', name: 'answer', strict: true, schema } },
  });
  return JSON.parse(output_text);
}

async function offerAsTool(parameters: Schema): Promise<void> {
  const { choices } = await openai.chat.completions.create({
    model: FAKE_MODEL,
    messages,
    tools: [{ type: 'function', function: { name: 'save', parameters } }],
  });
  assert.equal(choices[0]?.finish_reason, 'stop');
  assert.deepEqual(sentBody(upstream).tools[0].function.parameters, parameters);
}

/** Where a schema may stand, each with how it is sent. */
const places = { response_format: answerTo, 'text.format': textAnswerTo, 'tool parameters': offerAsTool } as const;

function strictObject(properties: Record<string, Schema>): Schema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

/** OpenAI's limits: 5,000 properties in all, 10 levels, 120,000 characters of names and values, 1,000 values of enums. */
function largestSchema(): Schema {
  const leaf = (name: string): Schema => ({ type: ['string', 'null'], description: `The ${name}` });
  const colours = Array.from({ length: 1_000 }, (_, index) => `colour-${String(index).padStart(4, '0')}`);
  let level: Schema = strictObject({ colour: { type: 'string', enum: colours } });
  let properties = 1;
  for (let depth = 9; depth >= 1; depth--) {
    const members: Record<string, Schema> = { deeper: level };
    properties++;
    const wanted = depth === 1 ? 5_000 - properties : 500;
    for (let index = 0; index < wanted; index++) members[`level_${depth}_property_${index}`] = leaf(`member ${index}`);
    properties += wanted;
    level = strictObject(members);
  }
  assert.equal(properties, 5_000);
  const nameCharacters = [...JSON.stringify(level).matchAll(/"(level_\d+_property_\d+|deeper|colour(?:-\d+)?)"/g)];
  assert.ok(nameCharacters.reduce((sum, [, name = '']) => sum + name.length, 0) > 120_000);
  return level;
}

const recursive: Schema = {
  ...strictObject({ value: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } }),
};
const linked: Schema = {
  ...strictObject({ first: { $ref: '#/$defs/node' } }),
  $defs: {
    node: strictObject({ value: { type: 'number' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } }),
  },
};

/** What `BaseModel.model_json_schema()` writes: definitions, titles, defaults, and `anyOf` with null for Optional. */
function pydanticSchema(models: number): Schema {
  const title = (text: string) => text.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase());
  const optional = (name: string, type: Schema): Schema => ({
    anyOf: [type, { type: 'null' }],
    default: null,
    title: title(name),
  });
  const definitions: Record<string, Schema> = {
    Status: { enum: ['open', 'waiting', 'closed'], title: 'Status', type: 'string' },
  };
  for (let index = 0; index < models; index++) {
    definitions[`Model${index}`] = {
      properties: {
        id: { format: 'uuid', title: 'Id', type: 'string' },
        created_at: { format: 'date-time', title: 'Created At', type: 'string' },
        status: { $ref: '#/$defs/Status', default: 'open' },
        amount: {
          anyOf: [{ type: 'number' }, { pattern: '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$', type: 'string' }],
          title: 'Amount',
        },
        note: optional('note', { maxLength: 500, type: 'string' }),
        tags: { items: { type: 'string' }, title: 'Tags', type: 'array' },
        scores: { additionalProperties: { type: 'integer' }, title: 'Scores', type: 'object' },
        parent: optional('parent', { $ref: `#/$defs/Model${Math.max(0, index - 1)}` }),
      },
      required: ['id', 'created_at', 'amount'],
      title: `Model${index}`,
      type: 'object',
    };
  }
  return {
    $defs: definitions,
    properties: { items: { items: { $ref: `#/$defs/Model${models - 1}` }, title: 'Items', type: 'array' } },
    required: ['items'],
    title: 'Answer',
    type: 'object',
  };
}

const pydantic = pydanticSchema(70);

for (const [place, send] of Object.entries(places)) {
  describe(`as ${place}`, () => {
    test('a schema at OpenAI’s limits', async () => {
      await send(largestSchema());
    });

    test('recursive schemas, by the root and by a definition', async () => {
      await send(recursive);
      await send(linked);
    });

    test('a schema of 50 KB as Pydantic makes it', async () => {
      assert.ok(JSON.stringify(pydantic).length > 50_000);
      await send(pydantic);
    });
  });
}

const line4 = z.object({
  sku: z.string(),
  quantity: z.number().int().min(1),
  kind: z.enum(['goods', 'service', 'discount']),
  note: z.string().nullable(),
  prices: z.array(z.object({ currency: z.string().length(3), cents: z.number().int() })),
  due: z.iso.datetime(),
});
const line3 = z3.object({
  sku: z3.string(),
  quantity: z3.number().int().min(1),
  kind: z3.enum(['goods', 'service', 'discount']),
  note: z3.string().nullable(),
  prices: z3.array(z3.object({ currency: z3.string().length(3), cents: z3.number().int() })),
  due: z3.string().datetime(),
});
const SECTIONS = 90;
/** Each section is spelt anew: schemas that are the same object would become one definition. */
const order4 = z.object(
  Object.fromEntries(
    Array.from({ length: SECTIONS }, (_, index) => [`section_${index}`, line4.extend({ at: z.literal(index) })]),
  ),
);
const order3 = z3.object(
  Object.fromEntries(
    Array.from({ length: SECTIONS }, (_, index) => [`section_${index}`, line3.extend({ at: z3.literal(index) })]),
  ),
);

describe('schemas of 50 KB by Zod', () => {
  for (const [version, order] of [
    ['4', order4],
    ['3', order3],
  ] as const) {
    test(`version ${version}, parsed again by the SDK`, async () => {
      const format = zodResponseFormat(order, 'order');
      assert.ok(JSON.stringify(format.json_schema.schema).length > 50_000);
      const completion = await openai.chat.completions.parse({ model, messages, response_format: format });
      assert.equal(Object.keys(completion.choices[0]?.message.parsed ?? {}).length, SECTIONS);
      const response = await openai.responses.parse({
        model,
        input: 'Fill it in.',
        text: { format: zodTextFormat(order, 'order') },
      });
      assert.equal(Object.keys(response.output_parsed ?? {}).length, SECTIONS);
    });
  }

  test('as the parameters of a tool', async () => {
    const tool = zodFunction({ name: 'save_order', parameters: order4 });
    await offerAsTool(tool.function.parameters ?? {});
  });
});
