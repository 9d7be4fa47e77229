import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createVault } from '../vault/vault.ts';
import { rotateSecret } from './rotate-secret.ts';
import { openActiveSecrets, sealSecrets } from './sealed-secrets.ts';

const owner = { ownerId: 'proj_1', webhookId: 'whk_1' };
const now = new Date('2026-05-01T12:00:00Z');
const inAnHour = new Date('2026-05-01T13:00:00Z');
const newVault = () => createVault([createSecretKey(randomBytes(32))]);
const rotate = (vault: ReturnType<typeof newVault>, held: ReturnType<typeof sealSecrets>) =>
  rotateSecret(vault, { ...owner, held, graceSeconds: 60, now });

test('a row from before earlier secrets were kept is rotated, and its previous secret stays valid', () => {
  const vault = newVault();
  const previous = { secret: 'whsec_b', expiresAt: inAnHour };
  const held = sealSecrets(vault, owner, { secret: 'whsec_a', previous, earlier: [] });
  assert.equal(held.sealed_earlier_secrets, null);
  const { secret, sealed } = rotate(vault, held);
  assert.deepEqual(openActiveSecrets(vault, owner, sealed, now), [secret, 'whsec_a', 'whsec_b']);
  assert.deepEqual(openActiveSecrets(vault, owner, sealed, inAnHour), [secret]);
});

test('a secret whose master key is lost ends with a rotation, and what can be opened stays valid', () => {
  const [vault, lost] = [newVault(), newVault()];
  const earlier = [{ secret: 'whsec_c', expiresAt: inAnHour }];
  const previous = { secret: 'whsec_b', expiresAt: inAnHour };
  const unreadable = sealSecrets(lost, owner, { secret: 'whsec_a', previous, earlier });
  const mended = rotate(vault, unreadable);
  assert.deepEqual(openActiveSecrets(vault, owner, mended.sealed, now), [mended.secret]);
  assert.equal(mended.sealed.previous_secret_expires_at, null);

  const { sealed_earlier_secrets } = sealSecrets(vault, owner, { secret: 'whsec_a', previous, earlier });
  const partly = rotate(vault, { ...unreadable, sealed_earlier_secrets });
  assert.deepEqual(openActiveSecrets(vault, owner, partly.sealed, now), [partly.secret, 'whsec_c']);
});
