/** The kinds of turns that are under way while servers die, and what each must have left behind in the end. */
import { clientTool } from '../support/turns.ts';
import type { Random } from './seeded-random.ts';

export interface Recipe {
  readonly kind: string;
  readonly text: string;
  readonly more: Record<string, unknown>;
  /** Model calls that are paid for, and tool calls, when it has completed. */
  readonly modelSteps: number;
  readonly calls: number;
  /** Tokens of the answer where the recipe fixes them. */
  readonly outputTokens?: number;
  /** It pauses for the client. */
  readonly pauses: boolean;
}

/** Enabled on every smith of these tests. */
export const HOSTED_TOOL = 'current_time';

const ZONES = ['Europe/Berlin', 'Asia/Tokyo', 'America/Lima'];
const SCHEMA = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    people: { type: 'integer' },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['city', 'people', 'tags'],
  additionalProperties: false,
};

const recipes: readonly ((random: Random) => Recipe)[] = [
  pacedWords,
  pacedWords,
  // Tool calls that this server runs, recorded before and after.
  (random) => ({
    kind: 'server tools',
    text: ZONES.slice(0, random.integer(1, 3))
      .map((zone) => `Call the tool ${HOSTED_TOOL} with {"timezone":"${zone}"}.`)
      .join(' '),
    more: {},
    modelSteps: 2,
    calls: 0,
    pauses: false,
  }),
  (random) => ({
    kind: 'client tools',
    text: Array.from({ length: random.integer(1, 2) }, (_, n) => `Call the tool look_up with {"n":${n}}.`).join(' '),
    more: { tools: [clientTool('look_up')] },
    modelSteps: 2,
    calls: 0,
    pauses: true,
  }),
  () => ({
    kind: 'approved tool',
    text: 'Call the tool pay with {"cents":5}.',
    more: { tools: [clientTool('pay', { requires_approval: true })] },
    modelSteps: 2,
    calls: 0,
    pauses: true,
  }),
  () => ({
    kind: 'structured output',
    text: 'Describe a city.',
    more: { response_format: { type: 'json_schema', json_schema: { name: 'city', schema: SCHEMA } } },
    modelSteps: 1,
    calls: 0,
    pauses: false,
  }),
];

function pacedWords(random: Random): Recipe {
  const words = random.integer(10, 60);
  return {
    kind: 'paced words',
    text: `Write ${words} words at 40 words per second`,
    more: {},
    modelSteps: 1,
    calls: 0,
    outputTokens: words,
    pauses: false,
  };
}

export function chooseRecipe(random: Random): Recipe {
  const recipe = random.pick(recipes)(random);
  return { ...recipe, calls: recipe.text.split('Call the tool').length - 1 };
}
