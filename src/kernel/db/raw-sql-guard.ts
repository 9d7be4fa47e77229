/** What raw SQL may contain inside a scoped query: expressions, never something that reads a table by itself. */
export class TenantScopeError extends Error {
  override readonly name = 'TenantScopeError';
}

/** Without one of these no SQL expression reads a table. */
const readsTable =
  /\b(select|table|insert|update|delete|merge|truncate|copy|union|intersect|except|with\s+recursive)\b/i;
const advice = 'build that part with the query builder, or use unscoped() for work across tenants';

/** `fragments` are the texts around the parameters. Throws TenantScopeError. */
export function checkRawExpression(fragments: readonly string[]): void {
  const text = blankLiterals(fragments.join(' ? '));
  if (readsTable.test(text)) throw new TenantScopeError(`raw SQL in a scoped query may not read tables: ${advice}`);
  // Either would let the text reach past its own place, around the tenant's predicate.
  if (/--|\/\*|;/.test(text) || !isBalanced(text)) {
    throw new TenantScopeError('raw SQL in a scoped query must be one whole expression: no comment, ";" or stray ")"');
  }
}

/** In the place of a table raw SQL may only call a function: `unnest(…)`, `jsonb_to_recordset(…) as x(a int)`. */
export function checkRawTable(fragments: readonly string[]): void {
  checkRawExpression(fragments);
  const text = blankLiterals(fragments.join(' ? ')).trim();
  const call = /^[a-z_][a-z0-9_]*\s*\(/i.exec(text);
  const rest = call === null ? undefined : text.slice(endOfParentheses(text, call[0].length - 1));
  const follows = /^(\s*with\s+ordinality)?(\s*(as\s+)?[a-z_][a-z0-9_]*(\s*\([^()]*\))?)?$/i;
  if (rest === undefined || !follows.test(rest)) {
    throw new TenantScopeError(`raw SQL in the place of a table may only call a function: ${advice}`);
  }
}

/** Quoted text can hold any word; a double-quoted name that hides a keyword is still only a name. */
function blankLiterals(text: string): string {
  return text.replace(/'(?:[^']|'')*'/g, "''").replace(/"(?:[^"]|"")*"/g, 'name');
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0 && !/['"]/.test(text.replaceAll("''", ''));
}

function endOfParentheses(text: string, start: number): number {
  let depth = 0;
  for (let index = start; index < text.length; index += 1) {
    if (text[index] === '(') depth += 1;
    if (text[index] === ')') depth -= 1;
    if (depth === 0) return index + 1;
  }
  return text.length;
}
