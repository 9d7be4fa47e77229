import { createRandom } from '../random.ts';

export const EMBEDDING_MODEL = 'vectors';
export const EMBEDDING_DIMENSIONS = 512;
const BASES = 64;
const DECIMALS = 6;
const CHARACTERS_PER_TOKEN = 4;

/**
 * Random unit vectors as JSON, each call another. They are the rotations of a few rendered ones: almost orthogonal to
 * each other, and cut out of a text rather than computed, because the upstream shares its cores with what is measured.
 */
export function createVectors(): () => string {
  const random = createRandom(2026);
  const bases = Array.from({ length: BASES }, () => renderRotatable(random));
  let calls = 0;
  return () => {
    const base = bases[calls % BASES] ?? bases[0];
    const rotation = Math.floor(calls / BASES) % EMBEDDING_DIMENSIONS;
    calls += 1;
    const from = base?.starts[rotation] ?? 0;
    return `[${base?.text.slice(from, from + base.length)}]`;
  };
}

/** The components of a unit vector twice over, and where each begins. */
function renderRotatable(random: () => number): { text: string; starts: number[]; length: number } {
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const components = Array.from({ length: EMBEDDING_DIMENSIONS }, normal);
  const norm = Math.hypot(...components);
  const numbers = components.map((each) => (each / norm).toFixed(DECIMALS));
  const once = numbers.join(',');
  const starts: number[] = [];
  let start = 0;
  for (const number of numbers) {
    starts.push(start);
    start += number.length + 1;
  }
  return { text: `${once},${once}`, starts, length: once.length };
}

export function renderEmbeddings(model: string, inputs: readonly string[], nextVector: () => string): string {
  const data = inputs.map((_, index) => `{"object":"embedding","index":${index},"embedding":${nextVector()}}`);
  const tokens = Math.ceil(inputs.reduce((sum, { length }) => sum + length, 0) / CHARACTERS_PER_TOKEN);
  const usage = `{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
  return `{"object":"list","data":[${data.join(',')}],"model":${JSON.stringify(model)},"usage":${usage}}`;
}
