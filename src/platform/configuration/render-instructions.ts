/** Fills `{{name}}` in instructions. */
import type { AgentVariable, JsonObject } from '../tables.ts';

const placeholder = /\{\{\s*([A-Za-z_][A-Za-z0-9_]{0,63})\s*\}\}/g;

export interface RenderedInstructions {
  readonly text: string;
  /** Required variables that neither the metadata nor a default fills. */
  readonly missing: readonly string[];
}

/**
 * A variable's value is the smith's metadata member of that name, else the variable's default, else empty. A name that
 * is no declared variable is filled from the metadata where it is there, and otherwise stays as written.
 */
export function renderInstructions(
  instructions: string,
  variables: readonly AgentVariable[],
  metadata: JsonObject,
): RenderedInstructions {
  const declared = new Map(variables.map((variable) => [variable.name, variable]));
  const readValue = (name: string): string | undefined => {
    const given = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    if (given !== undefined && given !== null) return typeof given === 'string' ? given : JSON.stringify(given);
    const variable = declared.get(name);
    return variable === undefined ? undefined : (variable.default ?? (variable.required ? undefined : ''));
  };
  const missing = variables.filter(({ name, required }) => required && readValue(name) === undefined);
  return {
    text: instructions.replaceAll(placeholder, (written, name: string) => readValue(name) ?? written),
    missing: missing.map(({ name }) => name),
  };
}
