/** The program of the child processes that read mail, one at a time. What goes wrong in a parser ends here. */
import { authenticateMail, type LookUp } from './authenticate-mail.ts';
import { MailError, parseMail } from './parse-mail.ts';
import type { FromMailReader, ToMailReader } from './protocol.ts';

type Open = Extract<ToMailReader, { kind: 'open' }>;

/** How the reading hands out what it has to say; and who waits for a look-up, in the order in which they asked. */
let say: PromiseWithResolvers<FromMailReader> | undefined;
let asked: { readonly question: FromMailReader; readonly answered: (answer: ToMailReader) => void }[] = [];

export function answer(message: ToMailReader): Promise<FromMailReader> {
  say = Promise.withResolvers<FromMailReader>();
  if (message.kind === 'open') {
    asked = [];
    readMail(message).then(
      (last) => say?.resolve(last),
      (error: unknown) => say?.reject(error),
    );
  } else {
    asked.shift()?.answered(message);
    askNext();
  }
  return say.promise;
}

/** One question at a time: a library may ask several together. */
const lookUp: LookUp = async (name, type) => {
  const { promise, resolve } = Promise.withResolvers<ToMailReader>();
  asked.push({ question: { kind: 'look-up', name, type }, answered: resolve });
  if (asked.length === 1) askNext();
  const reply = await promise;
  if (reply.kind === 'found') return reply.records;
  throw Object.assign(new Error(`${name} has no ${type}`), {
    code: reply.kind === 'missing' ? reply.code : 'ESERVFAIL',
  });
};

function askNext(): void {
  const [next] = asked;
  if (next !== undefined) say?.resolve(next.question);
}

async function readMail({ raw }: Open): Promise<FromMailReader> {
  try {
    const parsed = await parseMail(raw);
    return { kind: 'done', mail: { ...parsed, authentication: await authenticateMail(raw, parsed.from, lookUp) } };
  } catch (error) {
    // Anything else is a defect of this program: the process ends with it.
    if (!(error instanceof MailError)) throw error;
    return { kind: 'failed', message: error.message };
  }
}
