import { createApp, ref } from "vue";

export default async function quiz(island) {
  const { questions } = await (await fetch("https://assets.bankside.example/questions.json")).json();
  createApp({
    template: `<h2>{{ question.asks }}</h2>
      <button v-for="answer in question.answers" :key="answer" @click="next">{{ answer }}</button>
      <p>{{ number + 1 }} of {{ questions.length }}</p>`,
    setup() {
      const number = ref(0);
      return { number, questions, next: () => (number.value = (number.value + 1) % questions.length) };
    },
    computed: { question() { return questions[this.number]; } },
  }).mount(island);
}
