/** What becomes of commands, as an operator of the simulated registry says: by command, by name, and by share. */
import { createHash } from 'node:crypto';
import type { ResultCode } from '../../result-codes.ts';
import type { ChooseWrongAnswer } from '../../simulated/index.ts';
import type { ChooseDelivery, DeliveredCommand, Delivery } from './deliveries.ts';

/** Of names, unless `contact`, `host`, `poll` or `login`. A restoration is an update (RFC 3915). */
export const RULED_COMMANDS = [
  ...['check', 'info', 'create', 'renew', 'transfer', 'trade', 'update', 'delete'],
  ...['contact', 'host', 'poll', 'login'],
] as const;

/** Codes that a command is refused with, without being carried out; those from 2500 on end the session. */
export const REFUSALS = [
  ...[2104, 2201, 2302, 2303, 2304, 2306, 2308, 2400, 2500, 2502],
] as const satisfies readonly ResultCode[];

export interface AnswerRule {
  /**
   * `late`: carried out at once, and answered after `lateMs`; `undated`: answered without when a name was registered and when its term ends;
   * `garbled`: with what is no XML; `silent` and `cut`: see `Delivery`.
   */
  readonly answer: (typeof REFUSALS)[number] | 'silent' | 'cut' | 'late' | 'undated' | 'garbled';
  readonly lateMs?: number | undefined;
  /** Default: all that are about names. */
  readonly commands?: readonly (typeof RULED_COMMANDS)[number][] | undefined;
  /** In lower case; `*` stands for any run of characters. Default: every name. */
  readonly names?: readonly string[] | undefined;
  /** Of the commands that it fits. Default: all of them. */
  readonly share?: number | undefined;
}

/** A check is not refused with these: it shows what is wrongly not there as free, and everybody’s as everybody’s. */
const ABOUT_ONE_NAME: readonly AnswerRule['answer'][] = [2201, 2303];

/**
 * The first rule that hits a command says what becomes of it. The same ones are hit for the same seed and the same order of commands.
 * `choose` is for checks.
 */
export function followRules(
  rules: readonly AnswerRule[],
  seed: number,
): { readonly deliver: ChooseDelivery; readonly choose: ChooseWrongAnswer } {
  const drawn = rules.map((rule, index) => ({ rule, draw: drawAtRandom(`${seed} ${index}`) }));
  const find = (verb: string, name: string, fits: (rule: AnswerRule) => boolean) =>
    drawn.find(({ rule, draw }) => fits(rule) && isAbout(rule, verb, name) && draw() < (rule.share ?? 1))?.rule;
  return {
    deliver(command) {
      const verb = verbOf(command);
      const isCheck = verb === 'check';
      const rule = find(verb, command.name, ({ answer }) => !isCheck || !ABOUT_ONE_NAME.includes(answer));
      return rule === undefined ? undefined : deliveryOf(rule);
    },
    choose: (command, name) =>
      command === 'check' && find('check', name, ({ answer }) => answer === 2303) !== undefined ? 2303 : undefined,
  };
}

function isAbout({ commands, names }: AnswerRule, verb: string, name: string): boolean {
  const isRuled = commands === undefined ? !BESIDE_NAMES.includes(verb) : commands.some((command) => command === verb);
  return isRuled && (names === undefined || names.some((pattern) => matches(pattern, name)));
}

const BESIDE_NAMES: readonly string[] = ['contact', 'host', 'poll', 'login', 'logout', 'balance'];

/** `domain:renew` is `renew`, `contact:create` is `contact`. */
function verbOf({ kind }: DeliveredCommand): string {
  const [object = '', verb = ''] = kind.split(':');
  return object === 'domain' ? verb : object;
}

function matches(pattern: string, name: string): boolean {
  const text = pattern.split('*').map((part) => part.replaceAll(/[.]/g, '\\.'));
  return new RegExp(`^${text.join('.*')}$`).test(name);
}

function deliveryOf({ answer, lateMs = 0 }: AnswerRule): Delivery {
  switch (answer) {
    case 'silent':
    case 'cut':
      return { kind: answer };
    case 'late':
      return { kind: 'slow', delayMs: lateMs };
    case 'undated':
      return { kind: 'altered', alter: withoutDates };
    case 'garbled':
      return { kind: 'altered', alter: (xml) => xml.slice(0, -1) };
    default:
      return { kind: 'refused', code: answer };
  }
}

/** RFC 5731 3.1.2 has both optional. */
export function withoutDates(xml: string): string {
  return xml.replaceAll(/<domain:(crDate|exDate)>[^<]*<\/domain:\1>/g, '');
}

/** From 0 to 1, without 1. */
function drawAtRandom(seed: string): () => number {
  let count = 0;
  return () => {
    count += 1;
    return createHash('sha256').update(`${seed} ${count}`).digest().readUInt32BE(0) / 2 ** 32;
  };
}
