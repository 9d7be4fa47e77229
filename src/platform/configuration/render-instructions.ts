/** Fills `{{name}}` in instructions. */
import type { AgentVariable, JsonObject } from '../tables.ts';

const placeholder = /\{\{\s*([A-Za-z_][A-Za-z0-9_]{0,63})\s*\}\}/g;

/** Of instructions in UTF-8, as they are written and as they are filled in. */
export const MAX_INSTRUCTIONS_BYTES = 262_144;

export interface RenderedInstructions {
  /** Undefined where they would be larger than MAX_INSTRUCTIONS_BYTES. */
  readonly text: string | undefined;
  /** Size of the text in UTF-8, also where it has not been made. */
  readonly bytes: number;
  /** Required variables that neither the metadata nor a default fills. */
  readonly missing: readonly string[];
}

/**
 * A variable's value is the smith's metadata member of that name, else the variable's default, else empty. A name that
 * is no declared variable is filled from the metadata where it is there, and otherwise stays as written. A few placeholders
 * can name a large value many times: the size is summed first, and the text made only if it is small enough.
 */
export function renderInstructions(
  instructions: string,
  variables: readonly AgentVariable[],
  metadata: JsonObject,
): RenderedInstructions {
  const readValue = createReader(variables, metadata);
  let bytes = Buffer.byteLength(instructions);
  for (const [written, name = ''] of instructions.matchAll(placeholder)) {
    const value = readValue(name);
    if (value !== undefined) bytes += value.bytes - Buffer.byteLength(written);
  }
  const missing = variables.filter(({ name, required }) => required && readValue(name) === undefined);
  return {
    text:
      bytes > MAX_INSTRUCTIONS_BYTES
        ? undefined
        : instructions.replaceAll(placeholder, (written, name: string) => readValue(name)?.text ?? written),
    bytes,
    missing: missing.map(({ name }) => name),
  };
}

interface Value {
  readonly text: string;
  readonly bytes: number;
}

/** Each value is written once, however often it is asked for. */
function createReader(variables: readonly AgentVariable[], metadata: JsonObject): (name: string) => Value | undefined {
  const declared = new Map(variables.map((variable) => [variable.name, variable]));
  const values = new Map<string, Value | undefined>();
  const write = (name: string): string | undefined => {
    const given = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    if (given !== undefined && given !== null) return typeof given === 'string' ? given : JSON.stringify(given);
    const variable = declared.get(name);
    return variable === undefined ? undefined : (variable.default ?? (variable.required ? undefined : ''));
  };
  return (name) => {
    if (!values.has(name)) {
      const text = write(name);
      values.set(name, text === undefined ? undefined : { text, bytes: Buffer.byteLength(text) });
    }
    return values.get(name);
  };
}
