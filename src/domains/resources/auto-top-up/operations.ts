import { BASE_PATH, workspace } from '../../operation.ts';
import { type CardDependencies, forgetCard, saveCard } from './cards.ts';
import { getAutoTopUp } from './get-auto-top-up.ts';
import { AutoTopUp, AutoTopUpSettings, CardPage } from './schema.ts';
import { setAutoTopUp } from './set-auto-top-up.ts';

const AUTO = `${BASE_PATH}/wallet/auto-top-up`;
const CARD = `${BASE_PATH}/wallet/card`;
const writing = { posture: 'workspace', scope: 'write' } as const;

export function autoTopUpOperations(deps: CardDependencies) {
  return [
    workspace.read({
      id: 'auto_top_up.get',
      method: 'GET',
      path: AUTO,
      posture: 'workspace',
      scope: 'read',
      summary: 'See how the wallet is topped up by itself',
      reply: AutoTopUp,
      handler: getAutoTopUp(deps),
    }),
    workspace.change({
      ...writing,
      id: 'auto_top_up.set',
      method: 'PUT',
      path: AUTO,
      summary: 'Have the wallet topped up by itself',
      description:
        'Once less than `threshold` is available the saved card is charged with `amount`, one charge at a time. A card that is declined switches it off, and is told by mail and by an event. What is left out stays as it was.',
      body: AutoTopUpSettings,
      example: { enabled: false, threshold: 20, amount: 50, monthly_limit: 200 },
      reply: AutoTopUp,
      errors: ['payment_failed'],
      handler: setAutoTopUp(deps),
    }),
    workspace.turn({
      ...writing,
      id: 'auto_top_up.save_card',
      method: 'POST',
      path: CARD,
      idempotent: true,
      summary: 'Save a card',
      description:
        'Opens a page of the payment provider: a person enters the card there, and the service never sees it. It takes the place of the one before.',
      status: 201,
      reply: CardPage,
      errors: ['payment_failed'],
      handler: saveCard(deps),
    }),
    workspace.turn({
      ...writing,
      id: 'auto_top_up.forget_card',
      method: 'DELETE',
      path: CARD,
      idempotent: true,
      summary: 'Forget the saved card',
      description: 'Switches the automatic top-up off.',
      reply: AutoTopUp,
      errors: ['payment_failed'],
      handler: forgetCard(deps),
    }),
  ];
}
