/** Statements by which a client proves who it is (`private_key_jwt`), and what only looks like them. */
import { type CryptoKey, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose';

export interface Signer {
  readonly clientId: string;
  readonly audience: string;
  /** Of ES256. */
  readonly keys: { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey };
}

/** `claims` take the place of the usual ones; undefined leaves one out. */
export async function signAssertion(
  { clientId, audience, keys }: Signer,
  claims: object = {},
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  const exp = Math.floor(Date.now() / 1_000) + 60;
  const usual = { iss: clientId, sub: clientId, aud: audience, exp, jti: crypto.randomUUID() };
  return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: 'ES256', ...header }).sign(keys.privateKey);
}

/** None of them is worth anything. */
export async function makeBadAssertions(signer: Signer): Promise<string[]> {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1_000);
  const [, claims = '', signature = ''] = (await signAssertion(signer)).split('.');
  const publicJwk = await exportJWK(signer.keys.publicKey);
  const stranger = { ...signer, keys: await generateKeyPair('ES256') };
  const strangerJwk = await exportJWK(stranger.keys.publicKey);
  const { clientId: iss } = signer;
  const shared = new SignJWT({ iss, sub: iss, aud: signer.audience, exp: now + 60, jti: 'a' });
  const wrongClaims: readonly object[] = [
    { aud: 'https://other.example' },
    { aud: [] },
    { aud: undefined },
    { exp: now - 60 },
    { exp: undefined },
    { exp: now + 86_400 },
    { exp: 'soon' },
    { nbf: now + 600 },
    { jti: undefined },
    { iss: 'ocl_other' },
    { iss: undefined },
    { sub: 'ocl_other' },
    { sub: undefined },
  ];
  return [
    ...(await Promise.all(wrongClaims.map((wrong) => signAssertion(signer, wrong)))),
    `${part({ alg: 'none' })}.${claims}.`,
    `${part({ alg: 'none' })}.${claims}.${signature}`,
    `${part({ alg: 'None' })}.${claims}.`,
    // The public key as if it were a secret that both know.
    await shared.setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(JSON.stringify(publicJwk))),
    await signAssertion(stranger),
    await signAssertion(stranger, {}, { jwk: strangerJwk }),
    `${part({ alg: 'ES256', crit: ['x'], x: 1 })}.${claims}.${signature}`,
    `${part({ alg: 'ES256' })}.${part({ sub: 5 })}.x`,
    `${part({ alg: 'ES256' })}.${part(null)}.${signature}`,
    '..',
    'x'.repeat(8_000),
  ];
}
