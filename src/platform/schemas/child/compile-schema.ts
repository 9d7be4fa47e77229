/** Validators of foreign schemas. Runs in the child alone: how long Ajv takes over a schema is not known beforehand. */
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../../tables.ts';
import { listPatterns } from '../check-limits.ts';
import { findSchemaNodes } from '../schema-graph.ts';
import type { SchemaProblem } from '../schema-problem.ts';
import { compilePattern } from './linear-pattern.ts';

/** What is kept, by the size of the schemas: callers send the same few again and again. */
const MAX_KEPT = 500;
const MAX_KEPT_CHARS = 8_000_000;

type Outcome = { readonly validate: ValidateFunction } | { readonly problem: SchemaProblem };

const kept = new LRUCache<string, Outcome>({ max: MAX_KEPT, maxSize: MAX_KEPT_CHARS });

/** `text` is the schema as JSON. */
export function compileSchema(text: string): Outcome {
  const known = kept.get(text);
  if (known !== undefined) return known;
  const outcome = compile(JSON.parse(text));
  kept.set(text, outcome, { size: text.length });
  return outcome;
}

/** Libraries of draft 7 name it in `$schema`; everything else is taken as 2020-12, which `$schema` need not say. */
function compile({ $schema: dialect, $async: _ignored, ...schema }: JsonObject): Outcome {
  for (const node of findSchemaNodes(schema)) {
    for (const [place, pattern] of listPatterns(node.schema, node.place)) {
      try {
        compilePattern(pattern);
      } catch (error) {
        return { problem: { pointer: `${place}`, problem: `with a pattern that cannot be used: ${messageOf(error)}` } };
      }
    }
  }
  const draft = typeof dialect === 'string' && /draft-0[4-7]/.test(dialect) ? drafts.draft7 : drafts.draft2020;
  const isSchema = draft.metaSchema();
  if (!isSchema(schema)) {
    const [error] = isSchema.errors ?? [];
    return refuse(error?.instancePath ?? '', `the value there ${error?.message ?? 'is not valid'}`);
  }
  try {
    return { validate: draft.open().compile(schema) };
  } catch (error) {
    return refuse('', messageOf(error));
  }
}

function refuse(pointer: string, reason: string): Outcome {
  return { problem: { pointer, problem: `that is no JSON Schema: ${reason}` } };
}

const options = {
  strict: false,
  logger: false,
  validateFormats: false,
  // Members that every object inherits are not the answer's.
  ownProperties: true,
  // A schema that is written into each place that refers to it can become 2^30 of them.
  inlineRefs: false,
  // Without, each property's code stands inside the one before, and a thousand are more than the engine's parser takes.
  allErrors: true,
  code: { regExp: linearRegExp, optimize: false },
  // Schemas are checked by a meta-schema of their own, see `drafts`.
  meta: false,
  validateSchema: false,
} as const;

/**
 * Each schema has a compiler of its own: a compiler knows schemas by their `$id`, which anybody may give, that of the
 * meta-schema too, and keeps parts of them for ever. What takes long to make is the check that a schema is one.
 */
const drafts = {
  draft7: {
    open: () => new Ajv(options),
    metaSchema: once(() =>
      findMetaSchema(new Ajv({ strict: false, logger: false }), 'http://json-schema.org/draft-07/schema'),
    ),
  },
  draft2020: {
    open: () => new Ajv2020(options),
    metaSchema: once(() =>
      findMetaSchema(new Ajv2020({ strict: false, logger: false }), 'https://json-schema.org/draft/2020-12/schema'),
    ),
  },
};

function findMetaSchema(ajv: Ajv | Ajv2020, id: string): ValidateFunction {
  const found = ajv.getSchema(id);
  if (found === undefined) throw new Error(`the validator does not know ${id}`);
  return found;
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Ajv tells expressions apart by their text, so each must have one. */
function linearRegExp(pattern: string): { test: (text: string) => boolean; toString: () => string } {
  const { test } = compilePattern(pattern);
  return { test, toString: () => pattern };
}
linearRegExp.code = 'linearRegExp';

function messageOf(error: unknown): string {
  if (error instanceof RangeError) return 'it is too intricate to compile';
  const message = error instanceof Error ? error.message : 'it cannot be read';
  return message
    .replaceAll(/\bdata\//g, '/')
    .slice(0, MESSAGE_MAX_CHARS)
    .toWellFormed();
}

const MESSAGE_MAX_CHARS = 500;
