/** Somebody calls: whom they reach, and what Twilio is to do with the call. */
import type { Database } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { provisionForDeployment } from '../../smiths/index.ts';
import { TenantDatabase, type TenantTransaction } from '../../store/tenant-db.ts';
import type { JsonObject } from '../../tables.ts';
import { findRecipient, insertNoted } from '../inbound/inbound-store.ts';
import { FAILED_SENTENCE, GREETING_SENTENCE } from '../sentences.ts';
import { PHONE_NUMBER } from '../twilio/number.ts';
import { fieldOf } from '../twilio/signature.ts';
import type { TwilioCall } from '../twilio/verify-call.ts';
import { type CallTicket, sealTicket } from './call-ticket.ts';

/** What Twilio says in place of a number that is not shown: they are many people. */
const NOBODYS_NUMBERS = new Set(['+266696687', '+7378742833', '+2562533', '+8656696', '+86282452253']);

export interface AnswerCallDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'seal'>;
  readonly publicUrl: string;
  readonly now: () => Date;
}

/** In TwiML. `isFull`: no more calls are taken at this moment. */
export async function answerCall(
  { db, vault, publicUrl, now }: AnswerCallDependencies,
  call: TwilioCall<'voice'>,
  isFull: boolean,
): Promise<string> {
  // A quarter of a megabyte, for those who are called.
  const { default: VoiceResponse } = await import('twilio/lib/twiml/VoiceResponse.js');
  const response = new VoiceResponse();
  const ticket = await new TenantDatabase(db, call.account.projectId).transaction((tx) => reach(tx, call, now()));
  if (ticket === undefined) response.reject();
  else if (isFull) response.say(FAILED_SENTENCE);
  else {
    const { projectId } = call.account;
    const relay = response.connect().conversationRelay({
      url: `${publicUrl.replace(/^http/, 'ws')}/v1/voice/relay/${projectId}`,
      welcomeGreeting: GREETING_SENTENCE,
      dtmfDetection: true,
    });
    relay.parameter({ name: 'call', value: sealTicket(vault, projectId, ticket, now()) });
  }
  return response.toString();
}

/** Undefined where nobody is reached, which is noted. */
async function reach(
  tx: TenantTransaction,
  { account, form }: TwilioCall<'voice'>,
  now: Date,
): Promise<CallTicket | undefined> {
  const [callSid, from, to] = [fieldOf(form, 'CallSid'), fieldOf(form, 'From'), fieldOf(form, 'To')];
  if (callSid === '') return undefined;
  const { accountId } = account;
  const call = { idempotencyKey: callSid, sender: from, chat: from };
  const isKnown = PHONE_NUMBER.test(from) && !NOBODYS_NUMBERS.has(from);
  const found = isKnown ? await findRecipient(tx, account, call) : undefined;
  if (found?.deployment_id == null) {
    const data = { ...form } as JsonObject;
    const noted = { type: 'unbound_message', idempotencyKey: callSid, subject: from, data };
    const isNew = await insertNoted(tx, account, noted, undefined, now);
    const unbound = { kind: account.kind, sender: from, text: '' };
    if (isNew) await appendEvent(tx, { type: 'unbound_message', actor: null, data: unbound });
    return undefined;
  }
  const external_id = `voice:${from}`;
  const smithId =
    found.smith_id ?? (await provisionForDeployment(tx, { external_id, agent_id: found.agent_id ?? '' })).id;
  return { callSid, accountId, deploymentId: found.deployment_id, smithId, threadId: mintId('thr'), from, to };
}
