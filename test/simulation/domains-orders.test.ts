import { orderScenarios, testScenarios } from './domains-scenarios.ts';

testScenarios(orderScenarios);
