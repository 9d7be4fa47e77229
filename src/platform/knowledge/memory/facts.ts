/**
 * Facts are lines of working memory, so that reading or writing the memory as a whole includes them:
 *
 *     - Prefers tea (run_01m7…)
 *     - Lives in Lima (run_01m7…, run_01m9…)
 *
 * Each names the runs that it was learnt in. Everything else in the text is the writer's own and is left as it is.
 */

export const MAX_MEMORY_CHARS = 32_768;
export const MAX_FACT_CHARS = 500;
/** Facts whose vectors are closer than this (cosine) say the same. */
const SAME_FACT_SIMILARITY = 0.9;

const FACT_LINE = /^- (.+) \((run_\w+(?:, run_\w+)*)\)$/;

export interface Fact {
  readonly text: string;
  /** Oldest first. */
  readonly runIds: readonly string[];
}

/** The text with the fact behind it; a fact that is there already gains the run. Undefined when it does not fit. */
export function addFact(content: string, text: string, runId: string): string | undefined {
  const lines = content === '' ? [] : content.split('\n');
  const at = lines.findIndex((line) => readFact(line)?.text.toLowerCase() === text.toLowerCase());
  const known = at < 0 ? undefined : readFact(lines[at] ?? '');
  if (known?.runIds.includes(runId)) return content;
  if (known === undefined) lines.push(writeFact({ text, runIds: [runId] }));
  else lines[at] = writeFact({ ...known, runIds: [...known.runIds, runId] });
  const grown = lines.join('\n');
  return grown.length > MAX_MEMORY_CHARS ? undefined : grown;
}

/** The facts among the lines, in order, with the line that each is. */
export function listFacts(content: string): { readonly line: number; readonly fact: Fact }[] {
  return content.split('\n').flatMap((text, line) => {
    const fact = readFact(text);
    return fact === undefined ? [] : [{ line, fact }];
  });
}

/** Puts facts that say the same into the newest one's words, in its place, with the runs of all. */
export function mergeFacts(content: string, vectors: readonly Float32Array[]): string {
  const facts = listFacts(content);
  const lines: (string | undefined)[] = content.split('\n');
  const kept: { fact: Fact; line: number; vector: Float32Array }[] = [];
  // The newest is the last: it is looked at first, and older ones join it.
  for (let index = facts.length - 1; index >= 0; index -= 1) {
    const [entry, vector] = [facts[index], vectors[index]];
    if (entry === undefined || vector === undefined) continue;
    const newer = kept.find((each) => similarity(each.vector, vector) >= SAME_FACT_SIMILARITY);
    if (newer === undefined) {
      kept.push({ ...entry, vector });
      continue;
    }
    newer.fact = { text: newer.fact.text, runIds: [...new Set([...entry.fact.runIds, ...newer.fact.runIds])] };
    lines[newer.line] = writeFact(newer.fact);
    lines[entry.line] = undefined;
  }
  return lines.filter((line) => line !== undefined).join('\n');
}

/** Of vectors of unit length. */
function similarity(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

function readFact(line: string): Fact | undefined {
  const match = FACT_LINE.exec(line);
  return match === null ? undefined : { text: match[1] ?? '', runIds: (match[2] ?? '').split(', ') };
}

function writeFact({ text, runIds }: Fact): string {
  return `- ${text} (${runIds.join(', ')})`;
}
