/** Accounts that are read once for a moment, and anew as soon as they have changed. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { noteStatements } from '../../../../test/support/noted-database.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { createOpenedAccounts } from './opened-accounts.ts';

const platform = await startPlatform({ publicUrl: 'https://example.com' });
after(() => platform.close());
const { telegram } = platform;

async function openProject() {
  const project = await platform.createProject();
  const save = async () => {
    const bot_token = telegram.newToken();
    const saved = await project.put('/v1/tenant/telegram', { bot_token, api_base_url: telegram.url });
    assert.equal(saved.status, 200, saved.text);
    return bot_token;
  };
  const { db, seen } = noteStatements(platform.db);
  const accounts = createOpenedAccounts({ db, vault: platform.vault });
  const readToken = async () => (await accounts.find(project.projectId, 'telegram'))?.account.secrets.bot_token;
  return { project, save, seen, accounts, readToken };
}

test('looks that come together read the account once, and anew once it is forgotten', async () => {
  const { project, save, seen, accounts, readToken } = await openProject();
  const token = await save();
  assert.deepEqual(await Promise.all([readToken(), readToken(), readToken()]), [token, token, token]);
  assert.equal(seen.length, 1);
  const other = await save();
  accounts.forget(project.projectId);
  assert.equal(await readToken(), other);
  accounts.forget('');
  await readToken();
  assert.equal(seen.length, 3);
});

test('one that is missing, or cannot be opened, is looked for each time', async () => {
  const { save, seen, readToken } = await openProject();
  assert.equal(await readToken(), undefined);
  const token = await save();
  assert.equal(await readToken(), token);
  assert.equal(seen.length, 2);
  const { project, save: saveOther } = await openProject();
  await saveOther();
  const closed = createOpenedAccounts({
    db: platform.db,
    vault: {
      open: () => {
        throw new Error('the master key is gone');
      },
    },
  });
  await assert.rejects(closed.find(project.projectId, 'telegram'), /master key/);
  await assert.rejects(closed.find(project.projectId, 'telegram'), /master key/);
});

test('a bot that is deleted is nobody’s at once', async () => {
  const { project, save } = await openProject();
  const { secret_token = '' } = telegram.webhookOf(await save()) ?? {};
  const receive = async () => {
    const headers = { 'x-telegram-bot-api-secret-token': secret_token };
    const body = JSON.stringify({ update_id: 1 });
    const url = `${platform.url}/v1/telegram/webhook/${project.projectId}`;
    return (await fetch(url, { method: 'POST', headers, body })).status;
  };
  const before = await receive();
  assert.equal((await project.delete('/v1/tenant/telegram')).status, 204);
  assert.deepEqual([before, await receive()], [204, 401]);
});
