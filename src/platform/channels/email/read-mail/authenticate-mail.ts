/**
 * Whether the domain in `From` has signed the mail: DMARC by its DKIM signatures, or an aligned signature where the domain has no
 * policy. Whose server brought it says nothing here: over HTTP nobody knows, and who forwards breaks it.
 */
import { createRequire, registerHooks } from 'node:module';
import type { DKIMResult, dkimVerify as DkimVerify, dmarc as Dmarc, DNSResolver } from 'mailauth';
import type { Authentication } from './protocol.ts';

/** Throws an error with the resolver's `code`. */
export type LookUp = (name: string, type: string) => Promise<unknown>;

const NETWORK = new Set(['dns', 'https', 'net']);
const NO_NETWORK = new URL('./no-network.ts', import.meta.url).href;
registerHooks({
  resolve(specifier, context, next) {
    if (!NETWORK.has(specifier.replace(/^node:/, ''))) return next(specifier, context);
    return { url: NO_NETWORK, format: 'module-typescript', shortCircuit: true };
  },
});
// The whole package would load an HTTP client too.
const require = createRequire(import.meta.url);
const { dkimVerify } = require('mailauth/lib/dkim/verify') as { readonly dkimVerify: typeof DkimVerify };
const { dmarc } = require('mailauth/lib/dmarc') as { readonly dmarc: typeof Dmarc };

/** `from`: the address that will be obeyed. What another parser reads as another address has not been signed as this one. */
export async function authenticateMail(raw: Uint8Array, from: string, lookUp: LookUp): Promise<Authentication> {
  const resolver = lookUp as DNSResolver;
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const { headerFrom, fromFields, results } = await dkimVerify(bytes, { resolver, rejectRsaSha1: true });
  if (headerFrom.length !== 1 || fromFields !== 1) return fail('It does not have exactly one address in From.');
  if (headerFrom[0]?.toLowerCase() !== from) return fail('Its From can be read in two ways.');
  const passed = results.filter(isWholeAndSigned);
  const isUnknown = results.some(({ status }) => status.result === 'temperror');
  if (passed.length === 0) {
    if (isUnknown) return { result: 'unknown', detail: 'The DNS did not answer for the key of a signature.' };
    return fail(results.length === 0 ? 'It has no DKIM signature.' : 'None of its DKIM signatures holds.');
  }
  const policy = await dmarc({
    headerFrom,
    fromFields,
    spfDomains: [],
    dkimDomains: passed.map(({ signingDomain = '', status }) => ({
      domain: signingDomain,
      aligned: status.aligned ?? false,
    })),
    resolver,
  });
  const outcome = policy === false ? 'none' : policy.status.result;
  const signer = passed.find(({ status }) => typeof status.aligned === 'string')?.signingDomain;
  if (outcome === 'pass') return { result: 'pass', detail: 'DMARC passes.' };
  if (outcome === 'temperror') return { result: 'unknown', detail: 'The DNS did not answer for the DMARC policy.' };
  if (outcome === 'none' && signer !== undefined) return { result: 'pass', detail: `It is signed by ${signer}.` };
  if (isUnknown) return { result: 'unknown', detail: 'The DNS did not answer for the key of a signature.' };
  return fail('It is signed by other domains than that in From.');
}

/** What a signature leaves out at the end, anybody may have added. */
function isWholeAndSigned({ status }: DKIMResult): boolean {
  return status.result === 'pass' && (status.underSized ?? 0) === 0;
}

function fail(detail: string): Authentication {
  return { result: 'fail', detail };
}
