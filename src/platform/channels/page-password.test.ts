import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashPassword, isPassword } from './page-password.ts';

test('a password is told from others by its hash, which is another each time', async () => {
  const [one, other] = await Promise.all([hashPassword('sésame'), hashPassword('sésame')]);
  assert.notEqual(one, other);
  assert.ok(!one.includes('sésame'));
  assert.equal(await isPassword('sésame', one), true);
  // The same letters, put together otherwise.
  assert.equal(await isPassword('se\u0301same', other), true);
  for (const wrong of ['', 'sesame', 'sésame ', 'Sésame']) assert.equal(await isPassword(wrong, one), false, wrong);
});

test('what is no hash opens nothing', async () => {
  for (const stored of ['', 'scrypt', 'scrypt$$', 'undefined'])
    assert.equal(await isPassword('', stored), false, stored);
});
