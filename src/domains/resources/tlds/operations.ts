import { BASE_PATH, open } from '../../operation.ts';
import { listTlds, type TldDependencies } from './list-tlds.ts';
import { TldPriceList } from './schema.ts';

export function tldOperations(deps: TldDependencies) {
  return [
    open.read({
      id: 'tlds.list',
      method: 'GET',
      path: `${BASE_PATH}/tlds`,
      posture: 'public',
      summary: 'List the TLDs on offer, with their prices',
      description:
        'EUR retail. `register` and `renew` are for one year: a spending call confirms the price of its whole ' +
        '`duration`. `transfer` and `trade` are for the whole operation. Names that their registry sells at a price of their own cost ' +
        'what GET /check says.',
      reply: TldPriceList,
      handler: listTlds(deps),
    }),
  ];
}
