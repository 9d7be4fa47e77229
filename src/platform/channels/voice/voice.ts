/** Calls at work on one replica: the numbers that are called, and the connections over which Twilio hears and speaks. */
import type { Database } from '../../../kernel/db/database.ts';
import type { MessageSocket, SocketSession } from '../../../kernel/http/socket.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { Engine } from '../../engine/index.ts';
import { createTurnLine, type SmithPlace } from '../../surfaces/index.ts';
import { FAILED_SENTENCE } from '../sentences.ts';
import type { OpenNumber } from '../twilio/number-store.ts';
import type { TwilioCall } from '../twilio/verify-call.ts';
import { answerCall } from './answer-call.ts';
import { createCallLimits } from './call-limits.ts';
import { openTicket } from './call-ticket.ts';
import { RelayCall } from './relay-call.ts';
import { readRelayMessage } from './relay-messages.ts';
import { sayToken } from './speak-answer.ts';

/** RFC 6455, section 7.4.1. */
const POLICY_VIOLATION = 1008;
const INVALID_PAYLOAD = 1007;

export interface VoiceDependencies {
  readonly db: Database;
  readonly engine: Engine;
  readonly vault: Pick<Vault, 'seal' | 'open'>;
  readonly publicUrl: string;
  readonly now: () => Date;
  readonly logger: { warn(fields: object, message: string): void };
}

export interface Voice {
  /** What Twilio is to do with a call, in TwiML. */
  answer(call: TwilioCall<'voice'>): Promise<string>;
  /** `accounts`: whose token has signed the request for the connection. */
  relay(projectId: string, accounts: readonly OpenNumber[]): SocketSession;
  /** A turn has come to rest on this replica. */
  turnRested(place: SmithPlace): void;
}

export function createVoice(deps: VoiceDependencies): Voice {
  const line = createTurnLine();
  const limits = createCallLimits();

  /** Undefined where the connection is no call of this project's. */
  function accept(projectId: string, accounts: readonly OpenNumber[], socket: MessageSocket, sealed: string) {
    const ticket = openTicket(deps.vault, projectId, sealed, deps.now());
    if (ticket === undefined || !accounts.some(({ accountId }) => accountId === ticket.accountId)) return undefined;
    return new RelayCall({ ...deps, line }, projectId, ticket, socket);
  }

  async function serve(projectId: string, accounts: readonly OpenNumber[], socket: MessageSocket): Promise<void> {
    let call: RelayCall | undefined;
    for await (const text of socket.messages) {
      const message = readRelayMessage(text);
      if (message === undefined) return socket.close(INVALID_PAYLOAD, 'Not a message of ConversationRelay.');
      if (message.type === 'setup') call ??= accept(projectId, accounts, socket, message.call);
      if (call === undefined) return socket.close(POLICY_VIOLATION, 'The call is unknown here, or over.');
      if (message.type === 'prompt') call.prompt(message.text, message.data);
      if (message.type === 'interrupt') call.interrupt();
      if (message.type === 'dtmf') call.press(message.digit);
      if (message.type === 'error') deps.logger.warn({ projectId, description: message.description }, 'Twilio says no');
    }
  }

  return {
    answer: (call) => answerCall(deps, call, limits.isFull(call.account.projectId)),
    relay: (projectId, accounts) => async (socket) => {
      const end = limits.begin(projectId);
      if (end === undefined) {
        sayToken(socket, FAILED_SENTENCE, true);
        socket.send(JSON.stringify({ type: 'end' }));
        return;
      }
      try {
        await serve(projectId, accounts, socket);
      } finally {
        end();
      }
    },
    turnRested: line.turnRested,
  };
}
