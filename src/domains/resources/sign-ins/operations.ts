import { BASE_PATH, open } from '../../operation.ts';
import { completeSignIn } from './complete-sign-in.ts';
import { requestSignIn, type SignInDependencies } from './request-sign-in.ts';
import { SignedIn, SignInCode, SignInRequest, SignInRequested } from './schema.ts';
import { showSignInPage } from './sign-in-page.ts';

const MAX_BODY_BYTES = 4_096;

export function signInOperations(deps: SignInDependencies) {
  return [
    open.change({
      id: 'sign_ins.request',
      method: 'POST',
      path: `${BASE_PATH}/sign-ins`,
      posture: 'public',
      summary: 'Have a link mailed that gives a new token',
      description:
        'For accounts whose token is lost (`email_taken`). The answer is the same for every address; five links an hour are mailed to one.',
      idempotent: true,
      status: 202,
      body: SignInRequest,
      maxBodyBytes: MAX_BODY_BYTES,
      example: { email: 'ada@example.com' },
      reply: SignInRequested,
      handler: requestSignIn(deps),
    }),
    open.change({
      id: 'sign_ins.complete',
      method: 'POST',
      path: `${BASE_PATH}/sign-ins/complete`,
      posture: 'public',
      summary: 'Get a token for the code of a mailed link',
      description:
        'Once, within a quarter of an hour. Other tokens stay: GET /tokens lists them, DELETE /tokens/{token_id} revokes one.',
      idempotent: true,
      status: 201,
      body: SignInCode,
      maxBodyBytes: MAX_BODY_BYTES,
      reply: SignedIn,
      errors: ['invalid_token'],
      handler: completeSignIn(deps),
    }),
    open.turn({
      id: 'sign_ins.page',
      method: 'GET',
      path: `${BASE_PATH}/sign-in`,
      posture: 'public',
      summary: 'Show the page that a mailed link leads to',
      answers: ['html'],
      handler: showSignInPage,
    }),
  ];
}
