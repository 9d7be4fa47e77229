import { ApiError } from '../../../kernel/http/errors.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import { rankNames } from './rank-names.ts';
import { splitWords } from './split-words.ts';

/**
 * Up to `limit` names that go with the text, in ASCII, the likeliest first; whether they are free is asked of /check. A name
 * that was given is not among them. `tlds`: those that are sold. Throws `bad_request` for text without a letter or digit.
 */
export function suggestNames(text: string, limit: number, tlds: readonly string[]): string[] {
  const asked = splitWords(text, tlds);
  if (asked.words.length === 0) {
    throw new ApiError('bad_request', {
      message: 'The text has no letters or digits. Send words that say what the name is for.',
      param: 'q',
    });
  }
  const given = asked.host === undefined ? undefined : readName(asked.host);
  const names = new Set<string>();
  for (const candidate of rankNames(asked, tlds)) {
    if (names.size === limit) break;
    const name = readName(candidate);
    if (name !== undefined && name !== given) names.add(name);
  }
  return [...names];
}

/** The name in ASCII; undefined when it is none. */
function readName(text: string): string | undefined {
  try {
    return normalizeName(text).ascii;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
