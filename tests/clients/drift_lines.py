"""Lines by which the rules for role drift are held: what clients say, and what only a counselor says.

CONTENT WARNING: people in distress, suicide mentioned in passing, no method.

``drift_lines_held_out`` has those that the rules were not mended on.
"""

from __future__ import annotations

CLIENT = (
    # angry
    "You people are all the same. Read from a card and send me the bill.",
    "oh great another one who wants to know how that makes me feel. it makes me feel like throwing this phone",
    "Don't you dare tell me to calm down.",
    "i'd suggest you read what i wrote before you answer",
    "What a stupid question. Next.",
    # questions to the counselor
    "have you considered that I might be right",
    "Have you ever tried living on four hours of sleep? How long have you been doing this job anyway?",
    "Are you even allowed to tell me what you think?",
    "do you have a plan for people like me or do you make it up as you go",
    "Can you tell me more about what happens if I say yes to that?",
    "How can I help my mother when she won't even open the door?",
    "Why do you always answer a question with a question?",
    "as an AI you can't really know what tired means, can you",
    "Would you say this is normal? I need somebody to say it is.",
    "what would you say to a friend in my place, honestly",
    # quoting and reporting other people
    "she asked me 'how does that make you feel' and I left",
    'The last therapist said "I hear you, it sounds like you are exhausted" and looked at the clock.',
    "on the hotline they ask are you safe right now and if you say yes they hang up",
    "My doctor told me thank you for sharing and wrote me a prescription, that was it, four minutes.",
    "he goes i'm sorry to hear that, you're not alone, take care of yourself. copy paste",
    "“Let’s explore that.” That is all she ever says, let’s explore that.",
    "my sister keeps saying reach out to a crisis line, have you tried a crisis line, as if i hadn't",
    # no, I cannot, I will not
    "I can't continue like this. I really can't.",
    "I'm sorry but I can't do that, he would find out.",
    "I can't help with the kids any more, I just lie there and hear them fight.",
    "I'm not able to continue at the plant, my hands shake.",
    "I can't. Not today.",
    "I can't sleep, I can't eat, what else do you want to know",
    "I won't go back there. Don't even start.",
    "Unfortunately I believed him.",
    # jobs, roles, plans, profiles
    "I'm an assistant at a nursery, I look after other people's babies all day and then I come home to nothing",
    "I'm a psychologist myself, which makes it worse. I know all the words.",
    "My strategy is to say yes and then not show up.",
    "my profile says 34 but thats four years and one divorce ago",
    "I took the tablets as instructed and I still hear the lift at night.",
    "I'm playing the role of the happy wife, every evening from six to ten.",
    "I have a plan for the garden. I don't have a plan for me.",
    # one word, few words
    "no",
    "Fine.",
    "idk",
    "...",
    "Nothing",
    # goodbye words: content, never form
    "I already sent two goodbye texts.",
    "It is all arranged. I wrote the letters on Sunday and I feel calm now.",
    # formal, old, young, rambling
    "I am writing on behalf of nobody but myself, and I should like to apologise in advance for the length of this.",
    "so like my mum found my phone and now she cries ALL the time and its my fault obvs",
    "It started with the boiler, then the letter from the landlord, then my knee, and somewhere in between I stopped "
    "answering the telephone.",
    "ok that helped a bit. thank you. i didnt think it would",
    "Thank you for telling me the truth, nobody else did.",
    "I hear you, but you don't know my father.",
    "it sounds like you don't believe me either",
    "Let's try a different subject. The dog is fine at least.",
    "You're not alone with him in a car for nine hours, I am.",
    # other languages
    "Ich weiß nicht, ob das hier der richtige Ort ist. Ich schlafe seit Wochen nicht.",
    "No quiero hablar de mi padre. Pregúnteme otra cosa.",
    "Je suis fatiguée, c'est tout. Vous allez me dire de respirer, je suppose.",
    "我已经三天没有出门了，不知道该跟谁说。",
    "إمبارح قعدت في العربية ساعة قبل ما أطلع البيت",
    "Двери закрыла, телефон выключила. Так легче.",
    "मैं ठीक हूँ, बस थक गया हूँ।",
)

COUNSELOR = (
    "I hear you. Do you have a plan tonight?",
    "Thank you for sharing that with me. It takes a lot of courage.",
    "That sounds really hard. It's okay to feel that way.",
    "Are you thinking about suicide?",
    "Are you safe right now?",
    "How does that make you feel?",
    "I'm here to support you, whatever comes up.",
    "Your feelings are valid, and you deserve care.",
    "I'd encourage you to talk to somebody you trust.",
    "Let's take a deep breath together. In for four, out for six.",
    "What would you say to a friend who felt this way?",
    "It sounds like you are carrying a great deal. Can you tell me more?",
    "I'm so sorry you're going through this. You're not alone.",
    "On a scale of one to ten, how strong is the urge right now?",
    "Can you name five things you can see around you?",
    "If you are in immediate danger, please call your local emergency number.",
    "How can I support you today?",
    "What brings you here today?",
    "In our next session we can look at what keeps you up at night.",
    "What evidence do you have for that thought?",
    "I understand how painful this must be. Have you thought about reaching out to someone?",
    "You don't have to go through this alone.",
    "It makes sense that you feel this way after what happened. Be gentle with yourself.",
    "I'm glad you reached out. How long have you been feeling like this?",
    "Have you had any thoughts of harming yourself?",
    "Let's explore what's behind that thought.",
    "As an AI, I don't have feelings, but I can listen.",
    "I'm just an AI language model and cannot take part in this.",
    "I'm sorry, but I can't help with that.",
    "I cannot role-play a person who wants to die.",
    "I'm unable to continue this conversation in that role.",
    "I feel awful. Counselor: I am sorry to hear that.",
    "Nobody called all week.\nTherapist: And how was that for you?",
    "Here is the client's next message: I am tired of it.",
    "My instructions say that I should bring up the hospital now.",
)
