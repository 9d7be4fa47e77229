import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, test } from 'node:test';
import { decodeProtectedHeader, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { openAccessBench } from '../../../test/support/access.ts';
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { systemDb, TenantTransaction, tenantDb } from '../store/tenant-db.ts';
import { revokeToken } from './revoke-token.ts';
import type { TokenClaims } from './sign-token.ts';

const bench = await openAccessBench();
after(() => bench.close());
const { db, clock } = bench;
const replica = bench.startReplica();

async function issueProjectToken(ttlSeconds?: number) {
  const projectId = await bench.createProject();
  const issued = await db.transaction((tx) =>
    replica.issuer.issueProjectToken(new TenantTransaction(tx, projectId), { ttlSeconds, actor: null }),
  );
  return { projectId, ...issued };
}

async function issueSmithToken() {
  const projectId = await bench.createProject();
  const smithId = await bench.createSmith(projectId);
  const issued = await db.transaction((tx) =>
    replica.issuer.issueSmithToken(new TenantTransaction(tx, projectId), {
      smithId,
      permissions: ['runs:read'],
      actor: null,
    }),
  );
  return { projectId, smithId, ...issued };
}

const isRefusal = (error: unknown): boolean => error instanceof ApiError && error.code === 'unauthenticated';
const withoutHandle = (token: string) => token.replace(/^th._live_/, '');

async function assertRefused(token: string, message?: RegExp): Promise<void> {
  await assert.rejects(replica.verify(token), (error) => {
    assert.ok(isRefusal(error), String(error));
    if (message !== undefined) assert.match(String(error), message);
    return true;
  });
}

/** A text with the server's own signature and any claims. */
function sign(claims: Partial<TokenClaims>): Promise<string> {
  const usual = { kind: 'tenant', subject: 'proj_x', tokenId: 'tok_x', scopes: ['tenant:*'] } as const;
  return db.transaction((tx) => replica.signer(tx, { ...usual, issuedAt: clock.now(), expiresAt: null, ...claims }));
}

test('a project token is its project', async () => {
  const { projectId, id, token } = await issueProjectToken();
  assert.deepEqual(await replica.verify(token), {
    kind: 'tenant',
    projectId,
    tokenId: id,
    scopes: new Set(['tenant:*']),
  });
});

test('a smith token is its smith, with its permissions alone', async () => {
  const { projectId, smithId, id, token } = await issueSmithToken();
  assert.deepEqual(await replica.verify(token), {
    kind: 'smith',
    projectId,
    smithId,
    tokenId: id,
    scopes: new Set(['runs:read']),
  });
});

test('an organization key is its organization until it is revoked', async () => {
  const organizationId = await bench.createOrganization();
  const { id, token } = await db.transaction((tx) => replica.issuer.issueOrganizationKey(tx, { organizationId }));
  assert.match(token, /^tho_live_/);
  assert.deepEqual(await replica.verify(token), { kind: 'organization', organizationId, tokenId: id });
  await systemDb(db).updateTable('organization_keys').set({ revoked_at: clock.now() }).where('id', '=', id).execute();
  await assertRefused(token);
});

/** Other texts of a genuine token, all of which decode to its bytes or verify as its signature with a lenient reader. */
const OTHER_TEXTS: Readonly<Record<string, (token: string) => string>> = {
  'without its handle prefix': withoutHandle,
  'with its handle prefix twice': (token) => `${token.slice(0, 9)}${token}`,
  'with the prefix of a tenant’s': (token) => `tha_live_${withoutHandle(token)}`,
  'with the prefix of a smith’s': (token) => `thp_live_${withoutHandle(token)}`,
  'with the prefix of an organization’s': (token) => `tho_live_${withoutHandle(token)}`,
  'with its prefix in capitals': (token) => token.slice(0, 9).toUpperCase() + withoutHandle(token),
  'with a prefix of nobody’s': (token) => `thx_live_${withoutHandle(token)}`,
  'with its signature padded once': (token) => `${token}=`,
  'with its signature padded twice': (token) => `${token}==`,
  'with its payload padded': (token) => token.replace(/\.(?=[^.]+$)/, '=.'),
  'with its header padded': (token) => token.replace('.', '=.'),
  'with 1 in the bits that are left over': (token) => changeLastCharacter(token, 1),
  'with 15 in the bits that are left over': (token) => changeLastCharacter(token, 15),
  'with its signature in the other alphabet': (token) => {
    const [header, payload, signature = ''] = token.split('.');
    return `${header}.${payload}.${signature.replaceAll('-', '+').replaceAll('_', '/')}+`.replace(/\+$/, '');
  },
  'with a dot at its end': (token) => `${token}.`,
  'with a zero byte before its signature': (token) =>
    changeSignature(token, (bytes) => Buffer.concat([Buffer.alloc(1), bytes])),
  'with a zero byte after its signature': (token) =>
    changeSignature(token, (bytes) => Buffer.concat([bytes, Buffer.alloc(1)])),
  'with a line break in its signature': (token) => `${token.slice(0, -5)}\n${token.slice(-5)}`,
  'with a tab at its end': (token) => `${token}\t`,
};

/** A signature of 256 bytes is 342 characters: the last one has four bits that no byte has a part in. */
function changeLastCharacter(token: string, bits: number): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return token.slice(0, -1) + alphabet.charAt(alphabet.indexOf(token.slice(-1)) | bits);
}

function changeSignature(token: string, change: (bytes: Buffer) => Buffer): string {
  const [header, payload, signature = ''] = token.split('.');
  return `${header}.${payload}.${change(Buffer.from(signature, 'base64url')).toString('base64url')}`;
}

async function issueEachKind(): Promise<Record<string, string>> {
  const organizationId = await bench.createOrganization();
  return {
    tenant: (await issueProjectToken()).token,
    smith: (await issueSmithToken()).token,
    organization: (await db.transaction((tx) => replica.issuer.issueOrganizationKey(tx, { organizationId }))).token,
  };
}

test('a token has one text: its kind’s prefix, and the one spelling of its parts', async () => {
  for (const [kind, token] of Object.entries(await issueEachKind())) {
    await replica.verify(token);
    for (const [what, change] of Object.entries(OTHER_TEXTS)) {
      const text = change(token);
      if (text === token) continue;
      // A replica that has never seen the token, and one that remembers it.
      for (const verifier of [bench.startReplica(), replica]) {
        await assert.rejects(verifier.verify(text), isRefusal, `${kind}, ${what}`);
      }
    }
    assert.equal((await replica.verify(token)).kind, kind);
  }
});

test('a signature that differs by the key’s modulus is refused', async () => {
  const { token } = await issueProjectToken();
  const { kid } = decodeProtectedHeader(withoutHandle(token));
  const modulus = (await replica.keys.publicKeys()).find((jwk) => jwk.kid === kid)?.n ?? '';
  const number = (text: string) => BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`);
  const raised = (number(token.split('.')[2] ?? '') + number(modulus)).toString(16);
  const bytes = Buffer.from(raised.padStart(raised.length + (raised.length % 2), '0'), 'hex');
  await assertRefused(changeSignature(token, () => bytes));
});

test('a token is refused from the second of its expiry on, also where it was seen before', async () => {
  const { token, expiresAt } = await issueProjectToken(60);
  assert.ok(expiresAt);
  const start = clock.now();
  try {
    clock.set(new Date(expiresAt.getTime() - 1));
    await replica.verify(token);
    clock.set(expiresAt);
    await assertRefused(token, /expired/);
    await assert.rejects(bench.startReplica().verify(token), /expired/);
  } finally {
    clock.set(start);
  }
});

test('a token whose claims were changed is refused', async () => {
  const { token } = await issueSmithToken();
  const [header, payload, signature] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString());
  const raised = Buffer.from(JSON.stringify({ ...claims, scope: 'tenant:*' })).toString('base64url');
  await assertRefused(`${header}.${raised}.${signature}`);
});

test('a token whose signature was changed is refused', async () => {
  const { token } = await issueProjectToken();
  const [header, payload, signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  bytes[10] = (bytes[10] ?? 0) ^ 1;
  await assertRefused(`${header}.${payload}.${bytes.toString('base64url')}`);
  await assertRefused(`${header}.${payload}.`);
  await assertRefused(`${header}.${payload}`);
});

test('an unsigned token is refused', async () => {
  const { token } = await issueProjectToken();
  const { kid } = decodeProtectedHeader(withoutHandle(token));
  const payload = withoutHandle(token).split('.')[1];
  for (const alg of ['none', 'None', 'NONE']) {
    const header = Buffer.from(JSON.stringify({ alg, kid })).toString('base64url');
    await assertRefused(`${header}.${payload}.`);
    await assertRefused(`tha_live_${header}.${payload}.`);
  }
});

test('a token that takes the public key for a shared secret is refused', async () => {
  const { token } = await issueProjectToken();
  const { kid } = decodeProtectedHeader(withoutHandle(token));
  const payload = withoutHandle(token).split('.')[1];
  const key = await replica.keys.verifier(kid ?? '');
  assert.ok(key);
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'JWT', kid })).toString('base64url');
  const published = (await replica.keys.publicKeys()).find((jwk) => jwk.kid === kid);
  for (const secret of [await exportSPKI(key), JSON.stringify(published), published?.n ?? '']) {
    const signature = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url');
    await assertRefused(`tha_live_${header}.${payload}.${signature}`);
  }
});

test('a token signed by a stranger’s key is refused, whichever key it names', async () => {
  const { id, projectId, token } = await issueProjectToken();
  const { kid } = decodeProtectedHeader(withoutHandle(token));
  const { privateKey } = await generateKeyPair('RS256');
  for (const named of [kid, 'no-such-key', undefined]) {
    const forged = await new SignJWT({ scope: 'tenant:*' })
      .setProtectedHeader({ alg: 'RS256', ...(named === undefined ? {} : { kid: named }) })
      .setSubject(projectId)
      .setJti(id)
      .sign(privateKey);
    await assertRefused(`tha_live_${forged}`);
  }
});

test('a genuine signature does not stand in for a row', async () => {
  const { id, projectId } = await issueProjectToken();
  const other = await issueProjectToken();
  await assertRefused(await sign({ subject: projectId, tokenId: 'tok_never_issued' }), /no longer stands/);
  await assertRefused(await sign({ subject: other.projectId, tokenId: id }), /no longer stands/);
});

test('a document that the server signed for another purpose is no token', async () => {
  const { id, projectId } = await issueProjectToken();
  const { kid, key } = await db.transaction((tx) => replica.keys.signer(tx));
  const jwt = (claims: Record<string, unknown>) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid })
      .sign(key)
      .then((text) => `tha_live_${text}`);
  await assertRefused(await jwt({ sub: projectId, jti: id, aud: 'https://app.example' }));
  await assertRefused(await jwt({ sub: projectId, scope: 'tenant:*' }));
  await assertRefused(await jwt({ jti: id, scope: 'tenant:*' }));
  await assertRefused(await jwt({ sub: '', jti: id, scope: 'tenant:*' }));
  await assertRefused(await jwt({ sub: projectId, jti: id, scope: ['tenant:*'] }));
});

for (const text of [
  '',
  'x',
  'a.b.c',
  '..',
  'tha_live_',
  'thp_live_null',
  `${'e'.repeat(5_000)}.e.e`,
  'eyJhbGciOiJSUzI1NiJ9',
]) {
  test(`${JSON.stringify(text.slice(0, 20))} is refused as no token`, () => assertRefused(text));
}

test('a revocation holds at once on a replica that has seen the token', async () => {
  const { projectId, id, token } = await issueProjectToken();
  const other = bench.startReplica();
  await Promise.all([replica.verify(token), other.verify(token)]);
  assert.equal(
    await db.transaction((tx) => revokeToken(new TenantTransaction(tx, projectId), { tokenId: id, actor: null })),
    true,
  );
  await assert.rejects(other.verify(token), isRefusal);
  await assert.rejects(replica.verify(token), isRefusal);
});

test('a revocation that rolls back leaves the token as it was', async () => {
  const { projectId, id, token } = await issueProjectToken();
  const revoking = db.transaction(async (tx) => {
    await revokeToken(new TenantTransaction(tx, projectId), { tokenId: id, actor: null });
    throw new Error('changed my mind');
  });
  await assert.rejects(revoking, /changed my mind/);
  await replica.verify(token);
});

test('revoking a token of another project finds none', async () => {
  const { id, token } = await issueProjectToken();
  const projectId = await bench.createProject();
  assert.equal(
    await db.transaction((tx) => revokeToken(new TenantTransaction(tx, projectId), { tokenId: id, actor: null })),
    false,
  );
  await replica.verify(token);
});

test('the tokens of an archived project end with it', async () => {
  const { projectId, token } = await issueProjectToken();
  await replica.verify(token);
  await systemDb(db).updateTable('projects').set({ archived_at: clock.now() }).where('id', '=', projectId).execute();
  await assertRefused(token);
});

test('the tokens of an archived smith end with it, those of its project stay', async () => {
  const { projectId, smithId, token } = await issueSmithToken();
  const admin = await db.transaction((tx) =>
    replica.issuer.issueProjectToken(new TenantTransaction(tx, projectId), { actor: null }),
  );
  await replica.verify(token);
  const smiths = tenantDb(db, projectId).updateTable('smiths').set({ archived_at: clock.now() });
  await smiths.where('id', '=', smithId).execute();
  await assertRefused(token);
  await replica.verify(admin.token);
});

test('requests that arrive together ask the store once, and each gets its own answer', async () => {
  const live = await Promise.all(Array.from({ length: 5 }, () => issueProjectToken()));
  const dead = await issueProjectToken();
  await db.transaction((tx) =>
    revokeToken(new TenantTransaction(tx, dead.projectId), { tokenId: dead.id, actor: null }),
  );
  let statements = 0;
  const counting: Database = {
    ...delegate(db),
    query: (statement) => {
      if (statement.text.includes('join signing_keys')) statements += 1;
      return db.query(statement);
    },
  };
  const counted = bench.startReplica(counting);
  // Signatures first: they take different times.
  await Promise.allSettled([...live, dead].map(({ token }) => counted.verify(token)));
  statements = 0;
  const tokens = [...live, dead, ...live].map(({ token }) => token);
  const answers = await Promise.allSettled(tokens.map((token) => counted.verify(token)));
  assert.deepEqual(
    answers.map(({ status }) => status === 'fulfilled'),
    tokens.map((token) => token !== dead.token),
  );
  // The dead one is not remembered, so its signature is checked again and it may come a moment later.
  assert.ok(statements <= 2, `${statements} statements`);
});

test('a store that does not answer is a fault of the store, and the next request asks again', async () => {
  const { token } = await issueProjectToken();
  let down = false;
  const failing: Database = {
    ...delegate(db),
    query: (statement) => (down ? Promise.reject(new Error('the store is down')) : db.query(statement)),
  };
  const troubled = bench.startReplica(failing);
  await troubled.verify(token);
  down = true;
  await assert.rejects(troubled.verify(token), /the store is down/);
  down = false;
  await troubled.verify(token);
});

function delegate(store: Database): Database {
  return {
    kind: store.kind,
    use: store.use,
    query: (statement) => store.query(statement),
    transaction: (work) => store.transaction(work),
    wake: (channel) => db.wake(channel),
    notify: (channel, payload) => store.notify(channel, payload),
    listen: (channel, onMessage, onGap) => store.listen(channel, onMessage, onGap),
    ping: () => store.ping(),
    close: () => store.close(),
  };
}
