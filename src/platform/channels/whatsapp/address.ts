/** Who somebody is on WhatsApp: a phone number, or for those who show none an id that is theirs with one business alone. */

/** `US.13491208655302741918`, `US.ENT.11815799212886844830`. */
const USER_ID = /^[A-Z]{2}(?:\.ENT)?\.[A-Za-z0-9]{1,128}$/;
const NUMBER = /^[1-9]\d{6,14}$/;
/** A mobile number of Brazil as it was before 2016: country, area, eight digits. */
const BRAZIL_WITHOUT_NINTH = /^(?<area>55[1-9]\d)(?<rest>[6-9]\d{7})$/;

/** Of deployments. */
export const WHATSAPP_ADDRESS = {
  pattern: /^(?:\+[1-9]\d{6,14}|[A-Z]{2}(?:\.ENT)?\.[A-Za-z0-9]{1,128})$/,
  what: 'a phone number in E.164, such as `+4930901820`, or the id that WhatsApp gives a user',
  normalize: (address: string) => (address.startsWith('+') ? addressOfNumber(address.slice(1)) : address),
};

export interface WhatsAppPerson {
  /** As `deployments.address` has it. */
  readonly sender: string;
  /** What an answer is sent to: as Meta named it. */
  readonly chat: string;
}

/** Undefined where neither is what Meta sends. By their number where it is told: it is how a deployment names them. */
export function readPerson(number: unknown, userId: unknown): WhatsAppPerson | undefined {
  if (typeof number === 'string' && NUMBER.test(number)) return { sender: addressOfNumber(number), chat: number };
  if (typeof userId === 'string' && USER_ID.test(userId)) return { sender: userId, chat: userId };
  return undefined;
}

/** E.164. Meta's ids of Brazilian mobiles may lack the ninth digit that every such number has. */
export function addressOfNumber(digits: string): string {
  return `+${digits.replace(BRAZIL_WITHOUT_NINTH, '$<area>9$<rest>')}`;
}

/** Where Meta takes it: an id sent as a number is acknowledged, and never arrives. */
export function recipientOf(chat: string): { readonly to: string } | { readonly recipient: string } {
  return USER_ID.test(chat) ? { recipient: chat } : { to: chat };
}
