/**
 * Clients of MCP servers while the replicas die under them: each is let in, redeems its code, at two replicas at once now and
 * then, and goes on with its refresh tokens. Whatever answer is lost, it asks again as clients do.
 */

import assert from 'node:assert/strict';
import { isConnectionLost } from '../support/http-client.ts';
import {
  newClientId,
  newPkce,
  type OAuthAnswer,
  openAuthorize,
  redeem,
  refreshWith,
  requestIn,
  sendConsent,
} from '../support/oauth.ts';
import type { TestProject } from '../support/platform.ts';
import type { Random } from './seeded-random.ts';
import { insist } from './turn-driver.ts';

/** One replica that lives, for now. */
export interface Replica {
  readonly url: string;
  readonly project: TestProject;
}

export interface Replicas {
  readonly pick: () => Replica | undefined;
  readonly random: Random;
  readonly stopped: () => boolean;
  /** Something was done: kills come in between. */
  readonly progress: () => void;
}

export interface DrivenConnectors {
  readonly codes: number;
  readonly refreshes: number;
  /** Codes and refresh tokens whose answer was lost. */
  readonly lost: number;
}

const BOTH_AT_ONCE_SHARE = 0.2;
const REFRESHES_OF_ONE = 12;
/** A refresh token that was spent is worth a sibling for half a minute. */
const SIBLING_MS = 25_000;

/** Undefined: the answer was lost, with the replica or because it sheds load. */
type MaybeAnswer = OAuthAnswer | undefined;

export async function driveConnectors(
  replicas: Replicas,
  target: { readonly publicUrl: string; readonly resource: string },
): Promise<DrivenConnectors> {
  const count = { codes: 0, refreshes: 0, lost: 0 };
  while (!replicas.stopped()) {
    const consented = await obtainConsent(replicas, target);
    const isTwice = replicas.random.next() < BOTH_AT_ONCE_SHARE;
    const answers = await Promise.all(
      (isTwice ? [1, 2] : [1]).map(() => ask(replicas, ({ url }) => redeem(url, consented))),
    );
    count.codes += 1;
    replicas.progress();
    const given = answers.filter((answer) => answer?.status === 200);
    assert.ok(given.length <= 1, 'a code was redeemed twice');
    count.lost += answers.filter((answer) => answer === undefined).length;
    const [answer] = given;
    // Presented twice, it ends its token; lost, it is spent.
    if (answer === undefined || isTwice) continue;
    const rotated = await rotate(replicas, consented.clientId, answer.body.refresh_token);
    count.refreshes += rotated.refreshes;
    count.lost += rotated.lost;
  }
  return count;
}

async function obtainConsent(
  replicas: Replicas,
  { publicUrl, resource }: { readonly publicUrl: string; readonly resource: string },
): Promise<{ readonly clientId: string; readonly code: string; readonly verifier: string }> {
  const clientId = await insist(replicas, 'a registration', ({ url }) => newClientId(url).catch(passOnAssertions));
  return insist(replicas, 'a consent', async (first) => {
    const { verifier, challenge } = newPkce();
    const page = await openAuthorize(first.url, { client_id: clientId, resource, code_challenge: challenge });
    if (page.status >= 500) return undefined;
    const { url, project } = replicas.pick() ?? first;
    const answer = await sendConsent(url, { request: requestIn(page), token: project.token }, publicUrl);
    const location = answer.headers.get('location');
    const code = location === null ? null : new URL(location).searchParams.get('code');
    return code === null ? undefined : { clientId, code, verifier };
  });
}

/** A server that has just started sheds load. */
function passOnAssertions(error: unknown): undefined {
  if (error instanceof assert.AssertionError && /temporarily_unavailable/.test(error.message)) return undefined;
  throw error;
}

/** One token after the other of a family, some of them at two replicas at once. */
async function rotate(replicas: Replicas, clientId: string, first: string) {
  const count = { refreshes: 0, lost: 0 };
  let held = first;
  while (count.refreshes < REFRESHES_OF_ONE && !replicas.stopped()) {
    const presentedAtMs = performance.now();
    const isTwice = replicas.random.next() < BOTH_AT_ONCE_SHARE;
    let next: string | undefined;
    while (next === undefined) {
      const answers = await Promise.all(
        (isTwice ? [1, 2] : [1]).map(() => ask(replicas, ({ url }) => refreshWith(url, clientId, held))),
      );
      for (const answer of answers) {
        if (answer === undefined) count.lost += 1;
        else if (answer.status === 200) next = answer.body.refresh_token;
        else if (performance.now() - presentedAtMs > SIBLING_MS) return count;
        else assert.fail(`a refresh token that is good was refused: ${answer.text}`);
      }
    }
    held = next;
    count.refreshes += 1;
    replicas.progress();
  }
  return count;
}

async function ask(replicas: Replicas, send: (replica: Replica) => Promise<OAuthAnswer>): Promise<MaybeAnswer> {
  const replica = await insist(replicas, 'a replica that lives', async (found) => found);
  try {
    const answer = await send(replica);
    return answer.status >= 500 ? undefined : answer;
  } catch (error) {
    if (isConnectionLost(error)) return undefined;
    throw error;
  }
}
