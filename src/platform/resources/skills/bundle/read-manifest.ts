/** What SKILL.md says of its skill: the YAML between its first two lines `---` (agentskills.io, "Specification"). */
import { Alias, parseDocument, visit } from 'yaml';
import { invalidBundle } from './bundle-file.ts';

const MAX_FRONT_MATTER_BYTES = 16 * 1024;
/**
 * More than anything that is read here has. The parser calls itself at each level, and takes the square of the time for what
 * nests or repeats; these limits keep it to milliseconds.
 */
const MAX_BRACKETS = 32;
const MAX_INDICATORS = 256;
const MAX_QUOTES = 512;
const MAX_NAME_LENGTH = 64;
const MAX_DESCRIPTION_LENGTH = 1_024;
const MAX_COMPATIBILITY_LENGTH = 500;
const MAX_LICENSE_LENGTH = 1_024;
const MAX_METADATA_MEMBERS = 64;

export interface SkillManifest {
  readonly name: string;
  readonly description: string;
  readonly license: string | null;
  readonly compatibility: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
}

/** Throws `invalid_bundle`, saying what to mend. */
export function readManifest(content: Uint8Array): SkillManifest {
  const fields = parseFields(findFrontMatter(content));
  const name = readText(fields, 'name', MAX_NAME_LENGTH);
  if (name === null || !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)) {
    throw invalidBundle('`name` in SKILL.md must be lower-case letters, digits and single hyphens between them.');
  }
  const description = readText(fields, 'description', MAX_DESCRIPTION_LENGTH);
  if (description === null) throw invalidBundle('`description` is missing in SKILL.md.');
  return {
    name,
    description,
    license: readText(fields, 'license', MAX_LICENSE_LENGTH),
    compatibility: readText(fields, 'compatibility', MAX_COMPATIBILITY_LENGTH),
    metadata: readMetadata(fields.metadata),
  };
}

function findFrontMatter(content: Uint8Array): string {
  // The closing line has to be within the limit; what follows is the model's to read.
  const head = Buffer.from(content.buffer, content.byteOffset, Math.min(content.byteLength, MAX_FRONT_MATTER_BYTES));
  const text = head.toString('utf8').replace(/^\ufeff/, '');
  const [, yaml] = /^---[ \t]*\r?\n([\s\S]*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|$)/.exec(text) ?? [];
  if (yaml !== undefined) return yaml;
  throw invalidBundle(
    `SKILL.md must begin with YAML between two lines \`---\`, of at most ${MAX_FRONT_MATTER_BYTES} bytes together.`,
  );
}

/** Every scalar as the text that it is written as: `1.0` stays `1.0`. */
function parseFields(yaml: string): Readonly<Record<string, unknown>> {
  if ((yaml.match(/[[{]/g) ?? []).length > MAX_BRACKETS) throw notYaml(`more than ${MAX_BRACKETS} brackets`);
  if ((yaml.match(/[-?:](?=\s|$)|(?<=^|\s)[&*!]/g) ?? []).length > MAX_INDICATORS) {
    throw notYaml(`more than ${MAX_INDICATORS} members, items and tags`);
  }
  if ((yaml.match(/["']/g) ?? []).length > MAX_QUOTES) throw notYaml(`more than ${MAX_QUOTES} quotes`);
  const document = parseDocument(yaml, { schema: 'failsafe', logLevel: 'silent', stringKeys: true });
  const [error] = document.errors;
  if (error !== undefined) throw notYaml(error.message.split('\n')[0] ?? '');
  let hasAlias = false;
  visit(document, {
    Alias: () => {
      hasAlias = true;
      return visit.BREAK;
    },
    Node: (_key, node) => {
      if (!(node instanceof Alias) && node.anchor === undefined) return undefined;
      hasAlias = true;
      return visit.BREAK;
    },
  });
  if (hasAlias) throw notYaml('an alias or an anchor');
  const fields: unknown = document.toJS({ maxAliasCount: 0 });
  if (fields === null || typeof fields !== 'object' || Array.isArray(fields)) throw notYaml('no members');
  return fields as Record<string, unknown>;
}

function notYaml(what: string): Error {
  return invalidBundle(`The YAML of SKILL.md cannot be read: ${what.slice(0, 200)}.`);
}

/** Null where it is left out or empty. */
function readText(fields: Readonly<Record<string, unknown>>, name: string, maxLength: number): string | null {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw invalidBundle(`\`${name}\` in SKILL.md must be a text.`);
  const text = value.trim();
  if (text.length > maxLength) {
    throw invalidBundle(`\`${name}\` in SKILL.md must have at most ${maxLength} characters.`);
  }
  return text === '' ? null : text;
}

function readMetadata(value: unknown): Record<string, string> | null {
  if (value === undefined || value === null || value === '') return null;
  const members = typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : undefined;
  if (members === undefined || members.some(([, text]) => typeof text !== 'string')) {
    throw invalidBundle('`metadata` in SKILL.md must be members that are texts.');
  }
  if (members.length > MAX_METADATA_MEMBERS) {
    throw invalidBundle(`\`metadata\` in SKILL.md must have at most ${MAX_METADATA_MEMBERS} members.`);
  }
  return Object.fromEntries(members);
}
