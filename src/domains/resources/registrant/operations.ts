import { BASE_PATH, open, workspace } from '../../operation.ts';
import { showAgentPage } from './agent-page.ts';
import { cancelChange } from './cancel-change.ts';
import { changeRegistrant } from './change-registrant.ts';
import { completeAgent } from './complete-agent.ts';
import { completeVerification } from './complete-verification.ts';
import { showConsentPage } from './consent-page.ts';
import { type RegistrantDependencies, showRegistrant } from './get-registrant.ts';
import { giveConsent } from './give-consent.ts';
import { requestAgent } from './request-agent.ts';
import { requestVerification } from './request-verification.ts';
import {
  AgentAuthorized,
  ConsentGiven,
  Registrant,
  RegistrantChange,
  Verification,
  VerificationCode,
  VerificationDone,
} from './schema.ts';
import { showVerificationPage } from './verification-page.ts';
import { withdrawAgent } from './withdraw-agent.ts';

const MAX_CODE_BYTES = 4_096;

export function registrantOperations(deps: RegistrantDependencies) {
  return [
    workspace.read({
      id: 'registrant.get',
      method: 'GET',
      path: `${BASE_PATH}/registrant`,
      posture: 'workspace',
      scope: 'read',
      summary: 'Show the registrant',
      description:
        'The person whom the registry is told as the holder of the domains, what it requires and does not know, and whether the e-mail address is confirmed.',
      reply: Registrant,
      handler: showRegistrant(deps),
    }),
    workspace.change({
      id: 'registrant.change',
      method: 'PATCH',
      path: `${BASE_PATH}/registrant`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Change the registrant',
      description:
        'The registries of all domains are told; the owner is mailed where one refuses it. Where a domain’s TLD wants it, another name or organization has the e-mail address to be confirmed anew, or waits for the consent of both registrants (`change`), as another e-mail address always does.',
      body: RegistrantChange,
      example: { contact: { city: 'Berlin', country: 'DE' } },
      reply: Registrant,
      errors: ['email_taken', 'rate_limit_exceeded'],
      handler: changeRegistrant(deps),
    }),
    workspace.change({
      id: 'registrant.cancel_change',
      method: 'DELETE',
      path: `${BASE_PATH}/registrant/change`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Take back a change that waits for consents',
      description: 'Its links lead nowhere any more. Nothing where none waits.',
      reply: Registrant,
      handler: cancelChange(deps),
    }),
    open.change({
      id: 'registrant.consent',
      method: 'POST',
      path: `${BASE_PATH}/registrant/change/consent`,
      posture: 'public',
      summary: 'Consent to a change of the registrant with the code of a mailed link',
      description: 'Once. The second consent makes the change.',
      idempotent: true,
      body: VerificationCode,
      maxBodyBytes: MAX_CODE_BYTES,
      reply: ConsentGiven,
      errors: ['invalid_token', 'email_taken'],
      handler: giveConsent(deps),
    }),
    open.turn({
      id: 'registrant.consent_page',
      method: 'GET',
      path: `${BASE_PATH}/consent`,
      posture: 'public',
      summary: 'Show the page that a link of a change leads to',
      answers: ['html'],
      handler: showConsentPage,
    }),
    workspace.change({
      id: 'registrant.request_agent',
      method: 'POST',
      path: `${BASE_PATH}/registrant/designated-agent`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Let the registrar consent to changes of the registrant',
      description:
        'As the designated agent of ICANN’s transfer policy, at TLDs where it does so. The link that is mailed authorizes it. Another name or organization then ' +
        'waits for no mail, and is told by one; another e-mail address takes the consent of both all the same. Nothing is sent where it is authorized already.',
      status: 202,
      reply: Registrant,
      errors: ['rate_limit_exceeded'],
      handler: requestAgent(deps),
    }),
    workspace.change({
      id: 'registrant.withdraw_agent',
      method: 'DELETE',
      path: `${BASE_PATH}/registrant/designated-agent`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Withdraw what lets the registrar consent',
      description: 'From now on. A link that was mailed leads nowhere any more.',
      reply: Registrant,
      handler: withdrawAgent(deps),
    }),
    open.change({
      id: 'registrant.complete_agent',
      method: 'POST',
      path: `${BASE_PATH}/registrant/designated-agent/complete`,
      posture: 'public',
      summary: 'Authorize the registrar to consent with the code of a mailed link',
      description: 'Once.',
      idempotent: true,
      body: VerificationCode,
      maxBodyBytes: MAX_CODE_BYTES,
      reply: AgentAuthorized,
      errors: ['invalid_token'],
      handler: completeAgent(deps),
    }),
    open.turn({
      id: 'registrant.agent_page',
      method: 'GET',
      path: `${BASE_PATH}/designated-agent`,
      posture: 'public',
      summary: 'Show the page that the link of an authorization leads to',
      answers: ['html'],
      handler: showAgentPage,
    }),
    workspace.change({
      id: 'registrant.request_verification',
      method: 'POST',
      path: `${BASE_PATH}/registrant/verification`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Have the link mailed that confirms the registrant’s address',
      description:
        'Again: the first message is sent by itself. Nothing is sent where nothing is to be confirmed. Five messages an hour are sent.',
      status: 202,
      reply: Verification,
      handler: requestVerification(deps),
    }),
    open.change({
      id: 'registrant.complete_verification',
      method: 'POST',
      path: `${BASE_PATH}/registrant/verification/complete`,
      posture: 'public',
      summary: 'Confirm the registrant’s address with the code of a mailed link',
      description: 'Once. Further links of the same registrant are void then.',
      idempotent: true,
      body: VerificationCode,
      maxBodyBytes: MAX_CODE_BYTES,
      reply: VerificationDone,
      errors: ['invalid_token'],
      handler: completeVerification(deps),
    }),
    open.turn({
      id: 'registrant.verification_page',
      method: 'GET',
      path: `${BASE_PATH}/verify-registrant`,
      posture: 'public',
      summary: 'Show the page that a mailed link leads to',
      answers: ['html'],
      handler: showVerificationPage,
    }),
  ];
}
