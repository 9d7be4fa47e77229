/**
 * One client's session (RFC 5730 2):
 *
 *   greeting ─▶ anonymous ── login ──▶ registrar ── logout, 2500… ──▶ ended
 *                   └───── third login that fails (2501) ──────────────▲
 *
 * An anonymous client may say hello and log in. Frames are answered one after the other, in their order.
 */
import type { Clock } from '../../../../kernel/clock/clock.ts';
import { mintId } from '../../../../kernel/ids/ids.ts';
import type { Logger } from '../../../../kernel/log/log.ts';
import { endsSession, resultMessages } from '../../result-codes.ts';
import type { RegistryCore } from '../../simulated/index.ts';
import {
  describeCommand,
  type EppCommand,
  findTransactionId,
  type ObjectCommand,
  type Request,
  readRequest,
} from '../commands/command.ts';
import { greetingElement, LANGUAGE, type LoginCommand, PROTOCOL_VERSION } from '../commands/login.ts';
import { responseElement } from '../commands/response.ts';
import { EppFault } from '../epp-fault.ts';
import { BALANCE, CONTACT, DOMAIN, EPP, HOST } from '../namespaces.ts';
import { element, type XmlElement } from '../xml/element.ts';
import { parseXml, XmlError } from '../xml/parse-xml.ts';
import { writeXml } from '../xml/write-xml.ts';
import type { Answer, CommandContext } from './answers.ts';
import { answerBalance } from './balance-handler.ts';
import { answerContactCommand } from './contact-handlers.ts';
import { type ChooseDelivery, type Delivery, describeDelivered } from './deliveries.ts';
import { answerDomainCommand } from './domain-handlers.ts';
import { extensionUrisOf, objectUrisOf, type ServerHabits } from './habits.ts';
import { answerHostCommand } from './host-handlers.ts';
import { answerPoll } from './poll-handlers.ts';
import { answerForSubProduct } from './sub-products.ts';
import { answerTrade } from './trades.ts';

/** Sessions that are logged in, by registrar. */
export interface SessionCounter {
  /** False when the registrar has as many as it may. */
  enter(registrarId: string): boolean;
  release(registrarId: string): void;
}

/** How commands are answered. */
export interface Manners {
  readonly core: RegistryCore;
  readonly habits: ServerHabits;
  /** Default: every command is carried out and answered. */
  readonly deliver?: ChooseDelivery | undefined;
}

export interface SessionOptions {
  /** Asked for each command: the registry may change them meanwhile. */
  readonly manners: () => Manners;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly serverName: string;
  readonly sessions: SessionCounter;
}

export interface SessionAnswer {
  readonly xml: string;
  readonly ends: boolean;
  /** How it reaches the client; undefined: as it should. */
  readonly delivery?: Exclude<Delivery, { kind: 'silent' | 'refused' }> | undefined;
}

const MAX_FAILED_LOGINS = 3;
/** Objects in one check: each is a question to the store. */
const MAX_CHECKED = 100;

interface LoggedIn {
  readonly registrarId: string;
  readonly objectUris: ReadonlySet<string>;
  readonly extensionUris: ReadonlySet<string>;
}

export class EppSession {
  readonly #options: SessionOptions;
  #login: LoggedIn | undefined;
  #failedLogins = 0;
  /** Since the login. */
  #commandCount = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  get isLoggedIn(): boolean {
    return this.#login !== undefined;
  }

  greeting(): string {
    const { habits } = this.#options.manners();
    const greeting = greetingElement({
      server: this.#options.serverName,
      at: this.#options.clock.now().toISOString(),
      versions: [PROTOCOL_VERSION],
      languages: [LANGUAGE],
      objectUris: objectUrisOf(habits),
      extensionUris: extensionUrisOf(habits),
    });
    return writeXml(element(EPP, 'epp', [greeting]));
  }

  /** The answer to one frame, whatever is in it. `ends`: nothing more is answered. Undefined: this one is not. */
  async answer(frame: Uint8Array): Promise<SessionAnswer | undefined> {
    let clTRID: string | undefined;
    let answer: Answer;
    let delivery: SessionAnswer['delivery'];
    try {
      const root = parseXml(frame);
      clTRID = findTransactionId(root);
      const request = readRequest(root);
      if (request.kind === 'hello') return { xml: this.greeting(), ends: false };
      const chosen = this.#chooseDelivery(request.command);
      if (chosen?.kind === 'silent') return undefined;
      delivery = chosen?.kind === 'refused' ? undefined : chosen;
      answer = chosen?.kind === 'refused' ? { code: chosen.code } : await this.#carryOut(request);
    } catch (error) {
      answer = this.#answerFault(error);
    }
    return { xml: writeXml(this.#response(answer, clTRID)), ends: endsSession(answer.code), delivery };
  }

  /** Releases the registrar's session slot. */
  close(): void {
    if (this.#login !== undefined) this.#options.sessions.release(this.#login.registrarId);
    this.#login = undefined;
  }

  #chooseDelivery(command: EppCommand): Delivery | undefined {
    const session = { registrarId: this.#login?.registrarId, earlier: this.#commandCount };
    if (this.#login !== undefined) this.#commandCount += 1;
    return this.#options.manners().deliver?.(describeDelivered(command, session));
  }

  #response(answer: Answer, clTRID: string | undefined): XmlElement {
    return responseElement({
      ...answer,
      message: resultMessages[answer.code],
      extensions: answer.extensions ?? [],
      clTRID,
      svTRID: answer.svTRID ?? mintId('svt'),
    });
  }

  #answerFault(error: unknown): Answer {
    if (error instanceof EppFault) return { code: error.code, reason: error.message };
    if (error instanceof XmlError) return { code: 2001, reason: error.message };
    this.#options.logger.error({ err: error }, 'an EPP command failed');
    return { code: 2400 };
  }

  async #carryOut({ command, clTRID, extensionUris }: Request & { kind: 'command' }): Promise<Answer> {
    if (command.kind === 'login') return this.#logIn(command);
    const login = this.#login;
    if (login === undefined) throw new EppFault(2002, 'log in first');
    if (command.kind === 'logout') return { code: 1500 };
    const missing = extensionUris.find((uri) => !login.extensionUris.has(uri));
    if (missing !== undefined) throw new EppFault(2103, `${missing} was not agreed on at login`);
    this.#options.logger.debug(
      { registrar: login.registrarId, command: describeCommand(command), clTRID },
      'EPP command',
    );
    const session = { registrarId: login.registrarId, clTRID };
    const { core, habits } = this.#options.manners();
    const { clock } = this.#options;
    const context: CommandContext = { clock, core, habits, session, extensionUris: login.extensionUris };
    if (command.kind === 'poll') return answerPoll(context, command);
    if (command.kind === 'domain:trade') return answerTrade(context, command);
    if (!login.objectUris.has(uriOf(command))) throw new EppFault(2307, 'the object was not agreed on at login');
    if (countChecked(command) > MAX_CHECKED) throw new EppFault(2306, `a check names at most ${MAX_CHECKED} objects`);
    return answerForSubProduct(context, command, () => answerObjectCommand(context, command));
  }

  async #logIn(command: LoginCommand): Promise<Answer> {
    if (this.#login !== undefined) throw new EppFault(2002, 'this session is logged in');
    if (command.version !== PROTOCOL_VERSION) throw new EppFault(2100, `the version is ${PROTOCOL_VERSION}`);
    if (command.language !== LANGUAGE) throw new EppFault(2102, `the language is ${LANGUAGE}`);
    const { core, habits } = this.#options.manners();
    const object = command.objectUris.find((uri) => !objectUrisOf(habits).includes(uri));
    if (object !== undefined) throw new EppFault(2307, `objects of ${object} are not served`);
    const extension = command.extensionUris.find((uri) => !extensionUrisOf(habits).includes(uri));
    if (extension !== undefined) throw new EppFault(2103, `there is no extension ${extension}`);

    const { sessions, logger } = this.#options;
    const { clientId: registrarId, password, newPassword } = command;
    const reply = await core.login({ registrarId, password, newPassword });
    if (!reply.ok) {
      this.#failedLogins += 1;
      logger.warn({ registrar: registrarId, failures: this.#failedLogins }, 'an EPP login failed');
      const isLast = this.#failedLogins >= MAX_FAILED_LOGINS;
      return { code: isLast ? 2501 : reply.code, reason: reply.reason, svTRID: reply.svTRID };
    }
    if (!sessions.enter(registrarId)) return { code: 2502, svTRID: reply.svTRID };
    this.#login = {
      registrarId,
      objectUris: new Set(command.objectUris),
      extensionUris: new Set(command.extensionUris),
    };
    return { code: 1000, svTRID: reply.svTRID };
  }
}

function countChecked(command: ObjectCommand): number {
  if (command.kind === 'contact:check') return command.ids.length;
  return command.kind === 'domain:check' || command.kind === 'host:check' ? command.names.length : 0;
}

function uriOf(command: ObjectCommand): string {
  if (command.kind === 'balance:info') return BALANCE;
  if (isDomainCommand(command)) return DOMAIN;
  return isContactCommand(command) ? CONTACT : HOST;
}

function answerObjectCommand(context: CommandContext, command: ObjectCommand): Promise<Answer> {
  if (command.kind === 'balance:info') return answerBalance(context);
  if (isDomainCommand(command)) return answerDomainCommand(context, command);
  if (isContactCommand(command)) return answerContactCommand(context, command);
  return answerHostCommand(context, command);
}

type Of<Prefix extends string> = Extract<ObjectCommand, { kind: `${Prefix}:${string}` }>;

function isDomainCommand(command: ObjectCommand): command is Of<'domain'> {
  return command.kind.startsWith('domain:');
}

function isContactCommand(command: ObjectCommand): command is Of<'contact'> {
  return command.kind.startsWith('contact:');
}
