import { readCheckedFile } from '../../../domains/boot/setup/read-checked-file.ts';
import { ConfigError } from '../../../kernel/config/config.ts';
import { Habits } from './habits-schema.ts';

/** The registrar of names that are taken from the start; nobody logs in as it. */
const ELSEWHERE = 'elsewhere';

/** The file's habits. `registrars`: the ids of those who may log in. Throws `ConfigError` with every problem, by its member. */
export async function readHabits(path: string, registrars: readonly string[]): Promise<Habits> {
  const problems: string[] = [];
  const note = (place: string, problem: string) =>
    problems.push(`${path}: ${place === '' ? problem : `${place}: ${problem}`}`);
  const habits = await readCheckedFile(Habits, path, note, { page: 'docs/registrar.md', explain });
  if (habits !== undefined) checkHabits(habits, registrars, note);
  if (habits === undefined || problems.length > 0) throw new ConfigError([...new Set(problems)]);
  return habits;
}

function checkHabits(habits: Habits, registrars: readonly string[], note: (place: string, problem: string) => void) {
  const { answers = [], limits = {}, out_of_band: events = [], protocol = {}, sells = {} } = habits;
  const requireRegistrar = (id: string, place: string, known: readonly string[] = registrars) => {
    if (!known.includes(id)) note(place, `is none of the registrars: ${known.join(', ')}`);
  };
  for (const id of Object.keys(sells.registered ?? {})) requireRegistrar(id, `sells.registered.${id}`);
  for (const id of Object.keys(limits.credit ?? {})) requireRegistrar(id, `limits.credit.${id}`);
  for (const [index, { registrar = ELSEWHERE }] of events.entries()) {
    requireRegistrar(registrar, `out_of_band[${index}].registrar`, [...registrars, ELSEWHERE]);
  }
  for (const [index, { answer, late_ms: lateMs }] of answers.entries()) {
    const place = `answers[${index}].late_ms`;
    if (answer === 'late' && lateMs === undefined) note(place, 'say how late, in milliseconds');
    if (answer !== 'late' && lateMs !== undefined) note(place, 'is of `answer: late` alone');
  }
  if (protocol.balance === true && limits.credit === undefined) {
    note('protocol.balance', 'needs `limits.credit`: who may spend what he likes has no balance');
  }
}

const NAMES = 'names are written in lower case and with their TLD, such as gold.com';
const REGISTRARS = 'ids of registrars have 3 to 16 characters, and no colon or blank';

/** What texts look like, and keys. */
const FORMS: readonly (readonly [place: RegExp, form: string])[] = [
  [/^sells\.(premium|reserved\[\d+\]|registered\..+)$/, NAMES],
  [/^(protocol\.claims|out_of_band\[\d+\]\.name)$/, NAMES],
  [/^(sells\.registered|limits\.credit|out_of_band\[\d+\]\.registrar)$/, REGISTRARS],
  [/^(sells\.tlds\[\d+\]|protocol\.name_store)$/, 'TLDs are written in lower case, without a dot before them'],
  [/^answers\[\d+\]\.names/, 'names are written in lower case; * stands for any characters'],
];

function explain(place: string, keyword: string): string | undefined {
  if (keyword !== 'pattern' && keyword !== 'additionalProperties') return undefined;
  return FORMS.find(([places]) => places.test(place))?.[1];
}
